import { type FormEvent, useState } from 'react'
import { ApiError, signIn } from '../api/client.ts'
import mark from '../mark.svg'

export function Login() {
  const [value, setValue] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    await signIn(value.trim()).catch((cause) => {
      const isWrong = cause instanceof ApiError && cause.code === 'UNAUTHORIZED'
      setError(isWrong ? 'This token is not known here.' : cause.message)
      setBusy(false)
    })
  }
  return (
    <main className="login">
      <form onSubmit={onSubmit}>
        <img src={mark} alt="" width="44" height="44" />
        <h1>Sign in</h1>
        <p className="muted">
          This server needs a token. <code>gleaner start</code> prints an address that contains it, or the
          token is in the server's configuration.
        </p>
        <label htmlFor="token">Token</label>
        <input
          id="token"
          type="password"
          autoComplete="current-password"
          value={value}
          aria-invalid={error !== null}
          aria-describedby="token-note"
          onChange={(event) => setValue(event.target.value)}
        />
        <p
          id="token-note"
          className={error === null ? 'muted' : 'field-error'}
          role={error === null ? undefined : 'alert'}
        >
          {error ?? 'This browser stays signed in until you sign out.'}
        </p>
        <button type="submit" className="button" data-tone="primary" disabled={busy || value.trim() === ''}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}
