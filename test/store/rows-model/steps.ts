import { expect } from 'vitest'
import type { RowOutcome } from '../../../src/model/row.ts'
import type { EndCause } from '../../../src/model/session.ts'
import { type Act, Step } from '../step.ts'
import type { ModelTable } from './model-table.ts'
import { type RealTable, WORKERS } from './real-table.ts'

export type RowStep = Step<ModelTable, RealTable>

const step = (intent: string, act: Act<ModelTable, RealTable>) =>
  new Step(intent, act, (model, real) => real.expectSame(model))

/** Ids are few, so that rows come again. */
export const add = (id: number) =>
  step(`add ${id}`, async (model, real) => {
    if (model.rows.has(id)) return `row ${id} is there`
    const row = { id, path: `f${id}`, needs: 1, valid: 1, bpm: null, edited: 1_000 * ++generation }
    model.rows.set(id, row)
    await real.run(`INSERT INTO files VALUES (${id}, '${row.path}', 1, 1, NULL, ${row.edited})`)
    return `add ${id}`
  })

/** A row that was deleted and added again is another row. */
let generation = 0
let paths = 0

export type Change = 'edit' | 'invalidate' | 'validate' | 'need' | 'need not'

const CHANGES: Record<Change, { valid?: number; needs?: number }> = {
  edit: {},
  invalidate: { valid: 0 },
  validate: { valid: 1 },
  need: { needs: 1 },
  'need not': { needs: 0 },
}

/** Each is an edit: its values are not those of before. */
export const change = (id: number, how: Change) =>
  step(`${how} ${id}`, async (model, real) => {
    const row = model.rows.get(id)
    if (row === undefined) return `there is no row ${id} to ${how}`
    Object.assign(row, CHANGES[how], { path: `p${++paths}`, edited: row.edited + 1 })
    await real.run(`UPDATE files SET path = '${row.path}', needs = ${row.needs}, valid = ${row.valid},
                    edited = ${row.edited} WHERE id = ${id}`)
    return `${how} ${id}`
  })

/** Written anew as it was. */
export const rescan = (whole: boolean) =>
  step('rescan', async (_, real) => {
    if (whole) await real.run('UPDATE files SET path = path, needs = needs')
    return 'rescan'
  })

export const remove = (id: number) =>
  step(`delete ${id}`, async (model, real) => {
    model.rows.delete(id)
    await real.run(`DELETE FROM files WHERE id = ${id}`)
    return `delete ${id}`
  })

export const claim = (n: number, start: number, ahead: number) =>
  step(`worker ${n} claims ${start}+${ahead}`, async (model, real) => {
    const life = real.lives[n % WORKERS]!
    const now = real.world.clock.now()
    const { isEmpty } = life.worker
    const suspects = model.waiting(now, true)
    const waiting = model.waiting(now, false)
    const { claims } = await life.worker.take(start, ahead, true)
    const keys = claims.map(({ key }) => Number(key))
    if (isEmpty && suspects.length > 0) {
      expect(claims, 'a suspect, alone').toHaveLength(1)
      expect(suspects).toContain(keys[0])
    } else {
      expect(claims.length, 'never more than wanted').toBeLessThanOrEqual(start + ahead)
      expect(claims.length > 0, 'what waits is found').toBe(waiting.length > 0)
      for (const key of keys) expect(waiting, 'what waits').toContain(key)
    }
    expect(new Set(keys).size, 'each once').toBe(keys.length)
    for (const one of claims) {
      const id = Number(one.key)
      expect(one.row, 'as it is').toEqual(model.rows.get(id))
      expect(one.attempt).toBe(model.claim(id, life.number, one.fence, one.started))
      real.claims.push({ life, claim: one })
    }
    return `worker ${life.number} claims ${keys.join(', ') || 'nothing'}`
  })

/** Any claim there ever was, mostly a late one. */
export const settle = (pick: number, outcome: RowOutcome) =>
  step(`settle ${outcome.kind}`, async (model, real) => {
    const made = real.claims.at(-1 - (pick % Math.max(1, real.claims.length)))
    if (made === undefined) return 'there is nothing to settle'
    const { life, claim: proof } = made
    const isLive = real.lives.includes(life)
    const id = Number(proof.key)
    const now = real.world.clock.now()
    const expected = isLive ? model.settle(id, life.number, proof.fence, outcome, now) : 'refused'
    const answer = await life.worker.settle(proof, outcome)
    expect(answer.kind, `the answer for row ${id}`).toBe(expected)
    return `worker ${life.number} settles ${id}: ${outcome.kind}, ${answer.kind}`
  })

/** What one worker holds, in one exchange. */
export const settleAll = (n: number) =>
  step('settle all', async (model, real) => {
    const life = real.lives[n % WORKERS]!
    const held = model.heldBy(life.number)
    const proofs = held.map((id) => ({ id: `tag-files/${id}`, fence: model.claims.get(id)!.fence }))
    const outcome: RowOutcome = { kind: 'completed', values: { needs: 0, bpm: 120 }, retryAfterMs: 50 }
    const now = real.world.clock.now()
    const expected = held.map((id, i) => model.settle(id, life.number, proofs[i]!.fence, outcome, now))
    const answers = await life.worker.settleAll(proofs, outcome)
    expect(answers.map(({ kind }) => kind)).toEqual(expected)
    return `worker ${life.number} settles ${held.map((id, i) => `${id} ${expected[i]}`).join(', ') || 'nothing'}`
  })

export const end = (n: number, cause: EndCause) =>
  step(`worker ${n} ends: ${cause}`, async (model, real) => {
    const life = real.lives[n % WORKERS]!
    const returned = model.end(life.number, cause, real.world.clock.now())
    expect((await life.worker.end(cause)).returned, 'what was given back').toBe(returned)
    real.lives[n % WORKERS] = await real.newLife(life.worker.store)
    return `worker ${life.number} ends: ${cause}`
  })

export const advance = (ms: number) =>
  step(`${ms} ms pass`, async (_, real) => {
    real.world.clock.advance(ms)
    return `${ms} ms pass`
  })

export const retry = (id: number) =>
  step(`retry ${id}`, async (model, real) => {
    const answer = await real.world.store.rows.retryRow('tag-files', String(id))
    expect(answer, `the retry of row ${id}`).toBe(model.retry(id, real.world.clock.now()))
    return `retry ${id}: ${answer}`
  })

export const release = () =>
  step('release all', async (model, real) => {
    await real.world.store.rows.releaseRows('tag-files', { limit: 1_000, after: null })
    model.releaseAll()
    return 'release all'
  })

export const repair = () =>
  step('repair', async (model, real) => {
    let after: string | null = null
    do after = (await real.world.store.maintenance.repairRows({ limit: 3, after })).next
    while (after !== null)
    model.repair()
    return 'repair'
  })

export const deleteLedger = () =>
  step('delete the ledger', async (model, real) => {
    await real.world.database.tables.deleteLedger()
    model.deleteLedger()
    return 'delete the ledger'
  })
