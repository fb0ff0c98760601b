import { type FormEvent, useState } from 'react'
import { introduce } from '../api/client.ts'
import { setToken, useSession } from '../api/session.ts'
import mark from '../mark.svg'

export function Login() {
  const { wrongToken } = useSession()
  const [value, setValue] = useState('')
  const [busy, setBusy] = useState(false)
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setToken(value.trim())
    await introduce().catch(() => setToken(null))
    setBusy(false)
  }
  return (
    <main className="login">
      <form onSubmit={onSubmit}>
        <img src={mark} alt="" width="44" height="44" />
        <h1>Who are you?</h1>
        <p className="muted">
          This server wants a token: the operator's, to change things, or the viewer's, to look.
        </p>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          value={value}
          aria-invalid={wrongToken}
          aria-describedby="token-note"
          onChange={(event) => setValue(event.target.value)}
        />
        <p
          id="token-note"
          className={wrongToken ? 'field-error' : 'muted'}
          role={wrongToken ? 'alert' : undefined}
        >
          {wrongToken ? 'This token is not known here.' : 'It stays in this tab, and goes with it.'}
        </p>
        <button type="submit" className="button" data-tone="primary" disabled={busy || value.trim() === ''}>
          {busy ? 'Looking …' : 'Come in'}
        </button>
      </form>
    </main>
  )
}
