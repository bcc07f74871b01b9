/**
 * The page at `/` of the HTTP server: threads, conversations, and what a person has to decide.
 *
 * It calls the public routes only, with the person's token, so that a page of one's own can do all of it. Everything that it
 * shows of a thread is text: names, arguments, results and errors never become HTML; the one exception is the Markdown of an
 * assistant, in which HTML is escaped (`parts/markdown.tsx`).
 */
import { effect, useSignal } from '@preact/signals'
import { render } from 'preact'
import { readRoute, route } from './parts/route.js'
import { access, checkAccess, setToken, takeTokenOfAddress } from './session/api.js'
import { DevelopmentBar } from './session/development.js'
import { returned, takeLoginOfAddress } from './session/login-return.js'
import { box } from './session/outbox.js'
import { readConfiguration, ThreadView } from './thread/thread-view.js'
import { NewThread } from './threads/new-thread.js'
import { ThreadList } from './threads/thread-list.js'

function Page() {
  if (returned.value !== null)
    return (
      <p class="empty" role="status">
        {returned.value} <a href="./">Threads</a>
      </p>
    )
  if (access.value === 'refused') return <Login />
  if (access.value === 'unknown') return <p class="empty">Loading…</p>
  const now = route.value
  return (
    <div class="shell" data-view={now.name}>
      <div class="side">
        <ThreadList />
        <DevelopmentBar />
      </div>
      <main class="view">
        {now.name === 'thread' && <ThreadView key={now.threadId} threadId={now.threadId} />}
        {now.name === 'new' && <NewThread />}
        {now.name === 'home' && <Welcome />}
      </main>
    </div>
  )
}

function Welcome() {
  return (
    <div class="welcome">
      <h1>Threads</h1>
      <p class="faint">Choose one to read it, or begin a new one.</p>
      <a class="button primary" href="#/new">
        New thread
      </a>
    </div>
  )
}

/** Asks for the token of the server. */
function Login() {
  const token = useSignal('')
  const isWrong = useSignal(false)
  const isBusy = useSignal(false)
  const enter = async (event: Event): Promise<void> => {
    event.preventDefault()
    isBusy.value = true
    setToken(token.value)
    await checkAccess()
    isWrong.value = access.value === 'refused'
    isBusy.value = false
  }
  return (
    <main class="login">
      <form onSubmit={(event) => void enter(event)}>
        <h1>
          <span class="mark" aria-hidden="true" /> Everthread
        </h1>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="current-password"
          required
          value={token.value}
          onInput={(event) => (token.value = event.currentTarget.value)}
          aria-describedby="token-help"
          aria-invalid={isWrong.value}
        />
        <p
          id="token-help"
          class={isWrong.value ? 'problem' : 'hint'}
          role={isWrong.value ? 'alert' : undefined}
        >
          {isWrong.value
            ? 'Expected a token of this server, got another one.'
            : 'One of those that the server was started with. It stays in this tab.'}
        </p>
        <button type="submit" class="button primary" disabled={isBusy.value}>
          Log in
        </button>
      </form>
    </main>
  )
}

function followAddress(): void {
  if (takeTokenOfAddress()) void checkAccess()
  route.value = readRoute(location.hash)
}

addEventListener('hashchange', followAddress)
takeTokenOfAddress()
takeLoginOfAddress()
route.value = readRoute(location.hash)
void checkAccess()
// No link is better than no page.
void readConfiguration().catch(() => undefined)
let isOutboxOpen = false
effect(() => {
  if (access.value !== 'open' || isOutboxOpen) return
  isOutboxOpen = true
  box.open()
})
const root = document.getElementById('page')
if (root !== null) render(<Page />, root)
