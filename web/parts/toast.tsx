import { useSyncExternalStore } from 'react'
import { Icon } from './icon.tsx'
import { Prose } from './prose.tsx'

/** What came of an action: said once, and gone by itself unless it went wrong. */
interface Toast {
  id: number
  tone: 'green' | 'red'
  text: string
  hint: string | null
}

const SHOWN_MS = 5_000
const SHOWN_MAX = 3
let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

export function say(text: string): void {
  add({ tone: 'green', text, hint: null })
}

export function complain(text: string, hint: string | null): void {
  add({ tone: 'red', text, hint })
}

function add(toast: Omit<Toast, 'id'>): void {
  last += 1
  const id = last
  set([...toasts, { ...toast, id }].slice(-SHOWN_MAX))
  setTimeout(() => dismiss(id), toast.tone === 'red' ? 3 * SHOWN_MS : SHOWN_MS)
}

function dismiss(id: number): void {
  set(toasts.filter((toast) => toast.id !== id))
}

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, tone, text, hint }) => (
        <div className="toast" data-tone={tone} key={id}>
          <Icon name={tone === 'red' ? 'warning' : 'ok'} />
          <div>
            <p>{text}</p>
            {hint !== null && (
              <p className="muted">
                <Prose text={hint} />
              </p>
            )}
          </div>
          <button type="button" className="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="cancel" size={16} />
          </button>
        </div>
      ))}
    </div>
  )
}
