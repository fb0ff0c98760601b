import { type FormEvent, useState } from 'react'
import { ApiError, signIn, whyRefused } from '../api/client.ts'
import { useSession } from '../api/session.ts'
import mark from '../mark.svg'

export function Login() {
  const [value, setValue] = useState('')
  const [busy, setBusy] = useState(false)
  const { problem } = useSession()
  /** Of what was typed here; undefined: nothing yet. */
  const [typed, setError] = useState<string | null | undefined>()
  const error = typed === undefined ? problem : typed
  const onSubmit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    await signIn(value.trim()).catch((cause) => {
      setError(cause instanceof ApiError ? whyRefused(cause) : cause.message)
      setBusy(false)
    })
  }
  return (
    <main className="login">
      <form onSubmit={onSubmit}>
        <img src={mark} alt="" width="44" height="44" />
        <h1>Sign in</h1>
        <p className="muted">
          This server needs a token. The log of <code>gleaner start</code> shows an address that contains it.
          If the config sets <code>tokens</code>, use one of those.
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
