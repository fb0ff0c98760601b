import { DONE, file, fileSource, keysOf, rowWorker, withFiles } from './row-worker.ts'
import type { Theme } from './theme.ts'
import type { World } from './world.ts'

export const rowsSettling: Theme = (specify, expect) => {
  specify('what done returns is written, and the row is done', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    expect(await worker.complete(await worker.claimOne())).toEqual({ kind: 'done' })
    expect(await file(world, 1)).toMatchObject({ needs: 0, bpm: 120 })
    expect(await worker.claim()).toEqual([])
    expect(await leftovers(world)).toEqual([])
  })

  specify('many are done together', async (world) => {
    await withFiles(world, 50)
    const worker = await rowWorker(world)
    const claims = await worker.claim(50)
    const answers = await worker.settleAll(claims, { kind: 'completed', values: DONE, retryAfterMs: 1 })
    expect(new Set(answers.map(({ kind }) => kind))).toEqual(new Set(['done']))
    const [count] = await world.database.tables.rows('SELECT count(*) AS n FROM files WHERE bpm = 120')
    expect(Number(count!.n)).toBe(50)
  })

  specify('a row that needs work again is done again', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    await worker.complete(await worker.claimOne())
    await world.database.tables.run('UPDATE files SET needs = 1')
    expect(await worker.complete(await worker.claimOne())).toEqual({ kind: 'done' })
  })

  for (const version of [null, 'edited']) {
    const how = version === null ? 'without a version column' : 'with a version column'
    specify(`a row that was edited meanwhile stays to be done (${how})`, async (world) => {
      await withFiles(world, 1, { version })
      const worker = await rowWorker(world)
      const claim = await worker.claimOne()
      await world.database.tables.run(`UPDATE files SET path = 'new', edited = edited + 1`)
      expect(await worker.complete(claim)).toEqual({ kind: 'changed', times: 1, backsOffMs: null })
      expect(await file(world, 1)).toMatchObject({ needs: 1, bpm: null, path: 'new' })
      expect(await worker.claimOne()).toMatchObject({ key: '1', attempt: 1, row: { path: 'new' } })
    })
  }

  specify('with a version column other columns may be written meanwhile', async (world) => {
    await withFiles(world, 1, { version: 'edited' })
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await world.database.tables.run(`UPDATE files SET path = 'seen'`)
    expect(await worker.complete(claim)).toEqual({ kind: 'done' })
  })

  specify('edited each time, a row backs off, and the ledger asks who does it', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    for (let times = 1; times <= 3; times++) {
      const claim = await worker.claimOne()
      expect(claim).toMatchObject({ key: '1', attempt: 1 })
      await world.database.tables.run('UPDATE files SET edited = edited + 1 WHERE id = 1')
      const answer = await worker.complete(claim, DONE, 5_000)
      expect(answer).toEqual({ kind: 'changed', times, backsOffMs: times < 3 ? null : 5_000 })
    }
    expect(await world.store.rows.getRow('tag-files', '1')).toMatchObject({
      state: 'backing-off',
      attempts: 0,
    })
    expect((await world.store.rows.getRow('tag-files', '1'))?.error?.message).toContain(
      'Does its own handler write it?',
    )
    world.clock.advance(5_000)
    expect(keysOf(await worker.claim())).toEqual(['1'])
  })

  specify('a handler that writes its row and then fails does not run for ever', async (world) => {
    await withFiles(world, 1, { maxAttempts: 2 })
    const worker = await rowWorker(world)
    let quarantined = false
    for (let run = 0; run < 10 && !quarantined; run++) {
      const claim = await worker.claimOne()
      await world.database.tables.run('UPDATE files SET edited = edited + 1')
      const answer = await worker.fail(claim, 1_000)
      quarantined = answer.kind === 'failed' && answer.retryInMs === null
      world.clock.advance(1_000)
    }
    expect(quarantined).toBe(true)
  })

  specify('a row that was deleted meanwhile is gone, and its claim with it', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await world.database.tables.run('DELETE FROM files')
    expect(await worker.complete(claim)).toEqual({ kind: 'gone' })
    expect(await leftovers(world)).toEqual([])
  })

  specify('a row that is no longer eligible is left as it is', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await world.database.tables.run('UPDATE files SET valid = 0')
    expect(await worker.complete(claim)).toEqual({ kind: 'gone' })
    expect(await file(world, 1)).toMatchObject({ needs: 1, bpm: null })
    await world.database.tables.run('UPDATE files SET valid = 1')
    expect(await worker.claimOne()).toMatchObject({ key: '1', attempt: 1 })
  })

  specify('values that leave the row eligible are a failure, and nothing is written', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    const answer = await worker.complete(await worker.claimOne(), { bpm: 99 }, 2_000)
    expect(answer).toMatchObject({ kind: 'failed', retryInMs: 2_000, failure: { kind: 'error' } })
    expect(await file(world, 1)).toMatchObject({ needs: 1, bpm: null })
    expect(await worker.claim()).toEqual([])
    expect(await world.store.rows.getRow('tag-files', '1')).toMatchObject({
      state: 'backing-off',
      attempts: 1,
    })
  })

  specify('no values at all leave the row eligible', async (world) => {
    await withFiles(world, 1)
    const worker = await rowWorker(world)
    expect(await worker.complete(await worker.claimOne(), {})).toMatchObject({ kind: 'failed' })
  })

  specify('a broken constraint fails that row alone', async (world) => {
    await withFiles(world, 3)
    const worker = await rowWorker(world)
    const claims = await worker.claim(3)
    const startedAt = world.clock.now()
    const outcomes = claims.map(({ id, fence, key }) => {
      const values = key === '2' ? { ...DONE, path: null } : DONE
      return { id, fence, startedAt, outcome: { kind: 'completed', values, retryAfterMs: 1_000 } as const }
    })
    const { answers } = await worker.exchange({ outcomes })
    expect(answers.map(({ kind }) => kind)).toEqual(['done', 'failed', 'done'])
    expect(await file(world, 2)).toMatchObject({ needs: 1, path: 'f2' })
  })

  specify('of many handed in together each is settled for itself', async (world) => {
    await withFiles(world, 6)
    const late = await rowWorker(world, { worker: 'worker:late:0' })
    const lost = await late.claimOne()
    await late.giveBack(lost)
    const worker = await rowWorker(world)
    const claims = await worker.claimAll()
    const { tables } = world.database
    await tables.run('UPDATE files SET edited = 1 WHERE id = 2')
    await tables.run('DELETE FROM files WHERE id = 3')
    const startedAt = world.clock.now()
    const outcomes = claims.map(({ id, fence, key }) => {
      const values = key === '4' ? { bpm: 1 } : DONE
      const proof = key === '1' ? lost : { id, fence }
      const outcome = { kind: 'completed', values, retryAfterMs: 1_000 } as const
      return { id: proof.id, fence: proof.fence, startedAt, outcome }
    })
    const { answers } = await worker.exchange({ outcomes })
    const kinds = ['refused', 'changed', 'gone', 'failed', 'done', 'done']
    expect(answers.map(({ kind }) => kind)).toEqual(kinds)
    const rows = await tables.rows('SELECT id, needs FROM files ORDER BY id')
    expect(rows.map(({ needs }) => needs)).toEqual([1, 1, 1, 0, 0])
  })

  // One flaw in each: what is simply done together must see it by itself.
  for (const [what, harm, values] of [
    ['was edited', 'UPDATE files SET edited = 1 WHERE id = 2', DONE],
    ['is left eligible', '', { needs: 1, bpm: 1 }],
  ] as const) {
    specify(`one among many that ${what} is not done with them`, async (world) => {
      await withFiles(world, 3)
      const worker = await rowWorker(world)
      const claims = await worker.claim(3)
      if (harm !== '') await world.database.tables.run(harm)
      const startedAt = world.clock.now()
      const outcomes = claims.map(({ id, fence, key }) => ({
        id,
        fence,
        startedAt,
        outcome: { kind: 'completed', values: key === '2' ? values : DONE, retryAfterMs: 1_000 } as const,
      }))
      await worker.exchange({ outcomes })
      const rows = await world.database.tables.rows('SELECT needs, bpm FROM files ORDER BY id')
      expect(rows.map(({ needs, bpm }) => [needs, bpm])).toEqual([
        [0, 120],
        [1, null],
        [0, 120],
      ])
    })
  }

  specify('late ones, handed in together, write nothing', async (world) => {
    await withFiles(world, 3)
    const late = await rowWorker(world, { worker: 'worker:late:0' })
    const lost = await late.claim(3)
    for (const claim of lost) await late.giveBack(claim)
    const heir = await rowWorker(world)
    expect(await heir.claimAll()).toHaveLength(3)
    const answers = await late.settleAll(lost, { kind: 'completed', values: DONE, retryAfterMs: 1 })
    expect(answers.map(({ kind }) => kind)).toEqual(['refused', 'refused', 'refused'])
    const [count] = await world.database.tables.rows('SELECT count(*) AS n FROM files WHERE needs = 1')
    expect(Number(count!.n)).toBe(3)
  })

  for (const [what, values] of [
    ['a column that is not there', { needs: 0, tempo: 1 }],
    ['the key', { needs: 0, id: 7 }],
  ] as const) {
    specify(`${what} among the values pauses the discovery, and costs no attempt`, async (world) => {
      await withFiles(world, 2)
      const worker = await rowWorker(world)
      const answer = await worker.complete(await worker.claimOne(), values)
      expect(answer).toMatchObject({ kind: 'paused' })
      expect(await file(world, 1)).toMatchObject({ id: 1, needs: 1 })
      expect(await worker.claim(5)).toEqual([])
      const [discovery] = await world.store.rows.listDiscoveries()
      expect(discovery).toMatchObject({ paused: true })
      expect(discovery?.pausedReason).toContain(Object.keys(values)[1]!)
      await world.store.rows.setDiscoveryPaused('tag-files', false)
      expect((await world.store.rows.listDiscoveries())[0]).toMatchObject({
        paused: false,
        pausedReason: null,
      })
      expect(await worker.claimAll()).toMatchObject([{ key: '1', attempt: 1 }, { key: '2' }])
    })
  }

  specify('a claim that is not ours any more writes nothing', async (world) => {
    await withFiles(world, 1)
    const late = await rowWorker(world, { worker: 'worker:late:0' })
    const claim = await late.claimOne()
    await late.giveBack(claim)
    expect(await late.complete(claim)).toEqual({ kind: 'refused' })
    const heir = await rowWorker(world)
    const inherited = await heir.claimOne()
    expect(await late.complete(claim)).toEqual({ kind: 'refused' })
    expect(await late.complete({ ...claim, fence: inherited.fence })).toEqual({ kind: 'refused' })
    expect(await file(world, 1)).toMatchObject({ needs: 1 })
    expect(await heir.complete(inherited)).toEqual({ kind: 'done' })
  })

  specify('under a session that is over nothing is written, nor claimed', async (world) => {
    await withFiles(world, 2)
    const worker = await rowWorker(world)
    const claim = await worker.claimOne()
    await worker.end('lease')
    const startedAt = world.clock.now()
    const outcome = { kind: 'completed', values: DONE, retryAfterMs: 1 } as const
    const outcomes = [{ id: claim.id, fence: claim.fence, startedAt, outcome }]
    const answer = await worker.exchange({ outcomes })
    expect(answer).toMatchObject({ sessionEnded: true, answers: [{ kind: 'refused' }] })
    expect(await worker.take(5)).toMatchObject({ sessionEnded: true, claims: [] })
    expect(await worker.completeWith(claim, () => {})).toEqual({ kind: 'refused' })
    expect(await file(world, 1)).toMatchObject({ needs: 1 })
  })

  specify('flags may be true and false, and values of any kind', async (world) => {
    const { tables } = world.database
    await tables.run(
      'CREATE TABLE flags (id integer PRIMARY KEY, todo boolean NOT NULL, name text, at bigint)',
    )
    await tables.run(`INSERT INTO flags VALUES (1, true, 'a', 0), (2, false, 'b', 0)`)
    const source = { name: 'flags', table: tables.named('flags'), where: 'todo' }
    await world.store.rows.planDiscoveries([fileSource(world, source)])
    const worker = await rowWorker(world, { discoveries: ['flags'] })
    const claims = await worker.claim(5)
    expect(keysOf(claims)).toEqual(['1'])
    const values = { todo: false, name: `it's "é" ✓`, at: 9_007_199_254_740_993n }
    expect(await worker.complete(claims[0]!, values)).toEqual({ kind: 'done' })
    const [row] = await tables.rows('SELECT name, CAST(at AS text) AS at FROM flags WHERE id = 1')
    expect(row).toEqual({ name: `it's "é" ✓`, at: '9007199254740993' })
  })

  specify('flags may be text', async (world) => {
    const { tables } = world.database
    await tables.run(`CREATE TABLE flags (id integer PRIMARY KEY, state text NOT NULL)`)
    await tables.run(`INSERT INTO flags VALUES (1, 'new'), (2, 'ready')`)
    const source = { name: 'flags', table: tables.named('flags'), where: `state IN ('new', 'it''s; -- old')` }
    await world.store.rows.planDiscoveries([fileSource(world, source)])
    const worker = await rowWorker(world, { discoveries: ['flags'] })
    expect(await worker.complete(await worker.claimOne(), { state: 'ready' })).toEqual({ kind: 'done' })
    expect(await worker.claim()).toEqual([])
  })
}

/** Rows that are claimed or kept back. */
async function leftovers(world: World) {
  const left = []
  for (const state of ['claimed', 'backing-off', 'quarantined'] as const) {
    left.push(
      ...(await world.store.rows.listRows('tag-files', { state }, { limit: 100, cursor: null })).items,
    )
  }
  return left
}
