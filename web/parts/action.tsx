import { type ReactNode, useState } from 'react'
import { type ApiError, ask, type Method } from '../api/client.ts'
import { somethingChanged } from '../api/live.ts'
import { useMayAct } from '../api/session.ts'
import { Confirm, Dialog } from './dialog.tsx'
import { Icon, type IconName } from './icon.tsx'
import { sentence } from './states.tsx'
import { complain, say } from './toast.tsx'

export interface Act {
  path: string
  method?: Method
  body?: unknown
  /** What is said when it is done. */
  done: string
}

/** Does it, says what came of it, and lets everything be read again. Answers whether it was done. */
export async function act({ path, method = 'POST', body, done }: Act): Promise<boolean> {
  try {
    await ask(path, method, body)
    say(done)
    return true
  } catch (error) {
    const { message, hint = null } = error as ApiError
    complain(sentence(message), hint)
    return false
  } finally {
    somethingChanged()
  }
}

interface ActionProps extends Act {
  icon?: IconName
  tone?: 'danger' | 'primary'
  small?: boolean
  /** Said of it where there is only an icon. */
  label?: string
  /** What cannot be undone is asked first: what will happen, in a sentence. */
  confirm?: { title: string; text: string }
  onDone?: () => void
  children?: ReactNode
}

/** A button that changes something. Whoever may not sees none. */
export function Action({ icon, tone, small, label, confirm, onDone, children, ...what }: ActionProps) {
  const mayAct = useMayAct()
  const [busy, setBusy] = useState(false)
  const [isAsked, setIsAsked] = useState(false)
  if (!mayAct) return null
  const onConfirm = async () => {
    setIsAsked(false)
    setBusy(true)
    const done = await act(what)
    setBusy(false)
    if (done) onDone?.()
  }
  const button = (
    <button
      type="button"
      className={children === undefined ? 'icon-button' : 'button'}
      data-tone={tone}
      data-small={small || undefined}
      aria-label={label}
      title={label}
      aria-busy={busy}
      disabled={busy}
      onClick={confirm === undefined ? onConfirm : () => setIsAsked(true)}
    >
      {icon !== undefined && <Icon name={icon} size={small ? 16 : 18} />}
      {children}
    </button>
  )
  if (confirm === undefined || !isAsked) return button
  const onClose = () => setIsAsked(false)
  return (
    <>
      {button}
      <Dialog title={confirm.title} onClose={onClose}>
        <p>{confirm.text}</p>
        <Confirm label={confirm.title} danger onConfirm={onConfirm} onClose={onClose} />
      </Dialog>
    </>
  )
}
