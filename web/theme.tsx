import { useState } from 'react'
import { Icon } from './parts/icon.tsx'

/** As the system says, unless somebody chose. */
type Theme = 'auto' | 'light' | 'dark'
const KEY = 'gleaner.theme'
const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' }
const ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const

export function applyTheme(theme: Theme = chosen()): void {
  if (theme === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  dispatchEvent(new Event('gleaner-theme'))
}

function chosen(): Theme {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'auto'
}

export function ThemeButton() {
  const [theme, setTheme] = useState(chosen)
  const onClick = () => {
    const next = NEXT[theme]
    localStorage.setItem(KEY, next)
    applyTheme(next)
    setTheme(next)
  }
  return (
    <button
      type="button"
      className="icon-button"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}`}
      onClick={onClick}
    >
      <Icon name={ICONS[theme]} />
    </button>
  )
}
