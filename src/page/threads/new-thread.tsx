/** Begins a thread: an agent, and what to say to it. */
import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Agents as AgentsOfServer } from '../../http/index.js'
import { shorten } from '../parts/format.js'
import { goTo, threadAddress } from '../parts/route.js'
import { Empty, Problem } from '../parts/widgets.js'
import { client, problemText } from '../session/api.js'

const agents = signal<AgentsOfServer['agents'] | null>(null)
const chosen = signal('')

async function readAgents(): Promise<void> {
  const { agents: all } = await client.api.get('/agents')
  agents.value = all
  if (!all.some(({ name }) => name === chosen.value)) chosen.value = all[0]?.name ?? ''
}

export function NewThread() {
  const text = useSignal('')
  const problem = useSignal<string | null>(null)
  const isBusy = useSignal(false)
  // Made once for what is written here: a click that had no answer and is repeated begins one thread.
  const key = useRef(crypto.randomUUID())
  useEffect(() => {
    readAgents().catch((error: unknown) => (problem.value = problemText(error)))
  }, [])
  const begin = async (event: Event): Promise<void> => {
    event.preventDefault()
    isBusy.value = true
    problem.value = null
    const message = text.value.trim()
    try {
      const { threadId } = await client.threads.create({
        ...{ agent: chosen.value, key: key.current },
        ...(message !== '' && { message, title: shorten(message, 80) }),
      })
      goTo(threadAddress(threadId))
    } catch (error) {
      problem.value = problemText(error)
      isBusy.value = false
    }
  }
  return (
    <div class="new">
      <header class="bar">
        <a class="button quiet back" href="#/" aria-label="Back to threads">
          ←
        </a>
        <h1>New thread</h1>
      </header>
      <form onSubmit={(event) => void begin(event)}>
        <Agents />
        <label for="first">First message</label>
        <textarea
          id="first"
          rows={5}
          value={text.value}
          placeholder="What should the agent do?"
          onInput={(event) => (text.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void begin(event)
          }}
        />
        {problem.value !== null && <Problem>{problem.value}</Problem>}
        <button type="submit" class="button primary" disabled={isBusy.value || chosen.value === ''}>
          Start
        </button>
      </form>
    </div>
  )
}

function Agents() {
  const all = agents.value
  if (all === null) return <Empty>Loading the agents…</Empty>
  if (all.length === 0) return <Empty>No worker has registered an agent yet: start one, and come back.</Empty>
  return (
    <fieldset class="agents">
      <legend>Agent</legend>
      {all.map(({ name, title, description, type }) => (
        <label key={name} class="agent">
          <input
            type="radio"
            name="agent"
            value={name}
            checked={chosen.value === name}
            onChange={() => (chosen.value = name)}
          />
          <span>
            <span class="title">{title ?? name}</span>
            <span class="faint">{title === null ? type : `${name} · ${type}`}</span>
            {description !== null && <span class="detail">{description}</span>}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
