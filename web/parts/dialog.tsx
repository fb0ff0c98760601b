import { type ReactNode, useEffect, useRef, useState } from 'react'

/** The browser's own: it keeps the focus inside, closes by Escape, and gives the focus back. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ReactNode
}) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current!
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    <dialog ref={element} className="dialog" aria-label={title} onCancel={onClose} onClose={onClose}>
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

/** The first button, which has the focus, changes nothing. */
export function Confirm({
  label,
  danger,
  disabled = false,
  onConfirm,
  onClose,
}: {
  label: string
  danger: boolean
  disabled?: boolean
  onConfirm: () => Promise<void>
  onClose: () => void
}) {
  const [busy, setBusy] = useState(false)
  const confirm = () => {
    setBusy(true)
    void onConfirm()
  }
  return (
    <div className="dialog-actions">
      <button type="button" className="button" onClick={onClose}>
        Go back
      </button>
      <button
        type="button"
        className="button"
        data-tone={danger ? 'danger' : 'primary'}
        disabled={disabled || busy}
        aria-busy={busy}
        onClick={confirm}
      >
        {label}
      </button>
    </div>
  )
}
