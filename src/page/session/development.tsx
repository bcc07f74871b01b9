/**
 * The bar of `everthread dev`: what the worker does, and the buttons that kill and replace it. Elsewhere `/dev/status` does
 * not exist, and nothing is shown.
 */
import { signal } from '@preact/signals'
import { Action, StatusDot, useInterval } from '../parts/widgets.js'
import { HttpError } from '../../http/index.js'
import { client } from './api.js'

interface DevelopmentStatus {
  readonly worker: {
    readonly state: 'starting' | 'running' | 'replacing' | 'dead'
    readonly pid: number | null
    readonly deploys: number
    readonly draining: readonly number[]
  }
  /** What is wrong with the project, such as a syntax error; the old worker goes on. */
  readonly problem: string | null
  readonly model: 'scripted' | null
}

const status = signal<DevelopmentStatus | null>(null)
const isDevelopment = signal(true)

const POLL = 2_000
const STATES = { starting: 'idle', running: 'completed', replacing: 'running', dead: 'failed' } as const

async function readStatus(): Promise<void> {
  if (!isDevelopment.value) return
  try {
    status.value = (await (await client.fetch('/dev/status')).json()) as DevelopmentStatus
  } catch (error) {
    if (HttpError.isInstance(error) && error.status === 404) isDevelopment.value = false
  }
}

export function DevelopmentBar() {
  useInterval(() => void readStatus(), POLL)
  const now = status.value
  if (now === null) return null
  const { worker, problem, model } = now
  const order = async (path: string): Promise<void> => {
    await client.fetch(path, { method: 'POST' })
    await readStatus()
  }
  return (
    <section class="development" aria-label="Development">
      <div class="row">
        <span class="badge" data-status={STATES[worker.state]}>
          <StatusDot status={STATES[worker.state]} />
          worker {worker.state}
          {worker.pid !== null && <span class="faint">&nbsp;{worker.pid}</span>}
          {worker.deploys > 0 && (
            <span class="faint">
              &nbsp;· {worker.deploys} {worker.deploys === 1 ? 'deploy' : 'deploys'}
            </span>
          )}
          {worker.draining.length > 0 && (
            <span class="faint">&nbsp;· {worker.draining.join(', ')} ends its work</span>
          )}
        </span>
        <Action kind="danger" run={() => order('/dev/kill-worker')} isDisabled={worker.state === 'dead'}>
          Kill the worker
        </Action>
        <Action run={() => order('/dev/deploy')}>Deploy</Action>
      </div>
      {model === 'scripted' && <p class="hint">No provider’s key is set: a practice model answers.</p>}
      {problem !== null && (
        <pre class="problem" role="alert" tabIndex={0}>
          {problem}
        </pre>
      )}
    </section>
  )
}
