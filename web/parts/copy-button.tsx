import { useState } from 'react'
import { Icon } from './icon.tsx'
import { complain } from './toast.tsx'

export function CopyButton({ text, label, children }: { text: string; label: string; children?: string }) {
  const [copied, setCopied] = useState(false)
  const onClick = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      setTimeout(() => setCopied(false), 1_500)
    } catch {
      complain('The browser does not allow copying here', 'Select the text instead.')
    }
  }
  return (
    <button
      type="button"
      className={children === undefined ? 'icon-button copy' : 'button'}
      aria-label={children === undefined ? label : undefined}
      title={label}
      onClick={onClick}
    >
      <Icon name={copied ? 'ok' : 'copy'} size={16} />
      {copied && children !== undefined ? 'Copied' : children}
    </button>
  )
}
