import { useEffect, useState } from 'react'
import type { BulkAnswer, Task } from '../../src/http/wire/types.ts'
import { type ApiError, ask } from '../api/client.ts'
import { somethingChanged } from '../api/live.ts'
import { useMayAct } from '../api/session.ts'
import { Confirm, Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icon.tsx'
import { Failed, Loading } from '../parts/states.tsx'
import { complain, say } from '../parts/toast.tsx'
import { plural } from '../text/format.ts'

const CHANGES = {
  retry: { label: 'Retry', done: 'retried', icon: 'retry', applies: ['failed', 'cancelled', 'completed'] },
  cancel: {
    label: 'Cancel',
    done: 'cancelled',
    icon: 'cancel',
    applies: ['queued', 'scheduled', 'suspended', 'running'],
  },
  remove: {
    label: 'Remove',
    done: 'removed',
    icon: 'remove',
    applies: ['queued', 'scheduled', 'suspended', 'completed', 'failed', 'cancelled'],
  },
} as const
type Change = keyof typeof CHANGES
const NAMES = Object.keys(CHANGES) as Change[]

interface BulkBarProps {
  filter: Record<string, string>
  /** Those on this page. */
  tasks: Task[]
  selected: ReadonlySet<string>
  onClear: () => void
}

/** What can be done to what was chosen, or to all that the filters name. Nothing is done before it was shown. */
export function BulkBar({ filter, tasks, selected, onClear }: BulkBarProps) {
  const mayAct = useMayAct()
  const [asked, setAsked] = useState<Change | null>(null)
  if (!mayAct) return null
  const chosen = tasks.filter(({ id }) => selected.has(id))
  const close = () => setAsked(null)
  return (
    <div className="bulk">
      <span className={chosen.length > 0 ? '' : 'muted'}>
        {chosen.length > 0 ? `${plural(chosen.length, 'task')} selected` : 'All tasks that match the filters'}
      </span>
      {NAMES.map((change) => (
        <button key={change} type="button" className="button" data-small onClick={() => setAsked(change)}>
          <Icon name={CHANGES[change].icon} size={16} />
          {CHANGES[change].label} …
        </button>
      ))}
      {chosen.length > 0 && (
        <button type="button" className="button" data-small onClick={onClear}>
          Clear selection
        </button>
      )}
      {asked !== null &&
        (chosen.length > 0 ? (
          <ChosenDialog change={asked} chosen={chosen} onClose={close} onDone={onClear} />
        ) : (
          <FilterDialog change={asked} filter={filter} onClose={close} />
        ))}
    </div>
  )
}

function ChosenDialog({
  change,
  chosen,
  onClose,
  onDone,
}: {
  change: Change
  chosen: Task[]
  onClose: () => void
  onDone: () => void
}) {
  const { label, done, applies } = CHANGES[change]
  const fitting = chosen.filter(({ status }) => (applies as readonly string[]).includes(status))
  const onConfirm = async () => {
    const answers = await Promise.allSettled(fitting.map(({ id }) => changeOne(change, id)))
    const refused = answers.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
    const changed = fitting.length - refused.length
    if (changed > 0) say(`${plural(changed, 'task')} ${done}`)
    if (refused[0] !== undefined)
      complain(`${plural(refused.length, 'task')} not ${done}`, (refused[0].reason as ApiError).message)
    somethingChanged()
    onDone()
    onClose()
  }
  return (
    <Dialog title={`${label} selected tasks`} onClose={onClose}>
      <p>
        <strong className="num">{plural(fitting.length, 'task')}</strong> will be {done}.
        {fitting.length < chosen.length &&
          ` ${plural(chosen.length - fitting.length, 'selected task')} will not change, because of the status.`}
      </p>
      <Confirm
        label={`${label} ${plural(fitting.length, 'task')}`}
        danger={change !== 'retry'}
        disabled={fitting.length === 0}
        onConfirm={onConfirm}
        onClose={onClose}
      />
    </Dialog>
  )
}

function changeOne(change: Change, id: string): Promise<unknown> {
  return change === 'remove' ? ask(`/tasks/${id}`, 'DELETE') : ask(`/tasks/${id}/${change}`, 'POST')
}

function FilterDialog({
  change,
  filter,
  onClose,
}: {
  change: Change
  filter: Record<string, string>
  onClose: () => void
}) {
  const { label, done } = CHANGES[change]
  const [preview, setPreview] = useState<BulkAnswer | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was asked for is what is shown, whatever happens behind
  useEffect(() => {
    changeAll(change, filter, true).then(setPreview, setError)
  }, [])
  const onConfirm = async () => {
    try {
      const { changed, refused } = await changeAll(change, filter, false)
      say(`${plural(changed, 'task')} ${done}${refused > 0 ? `, ${refused} refused` : ''}`)
    } catch (problem) {
      complain((problem as ApiError).message, (problem as ApiError).hint)
    }
    somethingChanged()
    onClose()
  }
  return (
    <Dialog title={`${label} all matching tasks`} onClose={onClose}>
      <p className="muted">
        {Object.keys(filter).length === 0
          ? 'Every task in this database.'
          : Object.entries(filter)
              .map(([name, value]) => `${name}: ${value}`)
              .join(', ')}
      </p>
      {error !== null ? (
        <Failed error={error} />
      ) : preview === null ? (
        <Loading rows={1} label="Counting" />
      ) : (
        <p>
          <strong className="num">{plural(preview.changed, 'task')}</strong> would be {done}
          {ofWhichStatus(preview)}
          {preview.refused > 0 && `, ${preview.refused} would be refused`}.
        </p>
      )}
      <Confirm
        label={preview === null ? label : `${label} ${plural(preview.changed, 'task')}`}
        danger={change !== 'retry'}
        disabled={preview === null || preview.changed === 0}
        onConfirm={onConfirm}
        onClose={onClose}
      />
    </Dialog>
  )
}

function ofWhichStatus({ statuses }: BulkAnswer): string {
  const parts = Object.entries(statuses).map(([status, count]) => `${count} ${status}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

const TIMES = ['createdAfter', 'createdBefore', 'startedBefore', 'finishedAfter', 'finishedBefore']

function changeAll(change: Change, filter: Record<string, string>, dryRun: boolean): Promise<BulkAnswer> {
  const typed = Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [
      name,
      TIMES.includes(name) && /^\d+$/.test(value) ? Number(value) : value,
    ]),
  )
  return ask<BulkAnswer>(`/tasks/${change}`, 'POST', {
    filter: typed,
    dryRun,
    all: Object.keys(filter).length === 0,
  })
}
