/** A server, a worker and clients of AG-UI, and what their conversation has to be. */
import { EventType, HttpAgent, runHttpRequest, transformHttpEventStream } from '@ag-ui/client'
import type { RunAgentInput } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import { afterAll, beforeAll, inject } from 'vitest'
import type { ThreadClient } from '../../src/client/index.js'
import { serveThreads } from '../../src/server/index.js'
import type { ThreadServer } from '../../src/server/index.js'
import { messagesOfRows } from '../../src/views/ag-ui/messages.js'
import { createWorkingFixture } from '../client/working-fixture.js'
import type { WorkingFixture } from '../client/working-fixture.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { agUiDesk, noteHeard } from './ag-ui-desk.js'

export const KEY = 'k'.repeat(32)
export const ACME = 'token-of-account-acme'
export const GLOBEX = 'token-of-account-globex'

export interface Heard {
  readonly type: string
  readonly [field: string]: unknown
}

/** The official client, which joins a run again by our route, and remembers all that it heard. */
export class DoorAgent extends HttpAgent {
  readonly heard: Heard[] = []
  protected override connect(input: RunAgentInput) {
    // The one before may be aborted.
    this.abortController = new AbortController()
    const join = (): Promise<Response> =>
      this.fetch(`${this.url}/runs/${input.runId}`, {
        headers: this.headers,
        signal: this.abortController.signal,
      })
    return transformHttpEventStream(runHttpRequest(join))
  }
}

export function doorFixture() {
  let temporal: DevServer
  let fixture: WorkingFixture
  let server: ThreadServer
  beforeAll(async () => {
    temporal = await startDevServer()
    const workflowBundle = { codePath: inject('workflowBundlePath') }
    fixture = await createWorkingFixture({ registry: agUiDesk, server: temporal, workflowBundle })
    server = await serveThreads({
      ...{ client: fixture.threads, port: 0, threadTokens: { keys: [KEY] }, page: false, heartbeat: 200 },
      tokens: [
        { token: ACME, account: 'acme', user: 'ann' },
        { token: GLOBEX, account: 'globex' },
      ],
    })
  })
  afterAll(async () => {
    await server.close()
    await fixture.close()
    await temporal.stop()
  })

  /** An agent at a path of the server, whose every event is held against the schemas of the protocol. */
  function agentAt(path: string, options: { readonly threadId: string; readonly token?: string }): DoorAgent {
    const { threadId, token = ACME } = options
    const headers = { authorization: `Bearer ${token}` }
    const agent = new DoorAgent({ url: `${server.url}${path}`, threadId, headers })
    agent.subscribe({
      onEvent: ({ event }) => {
        EventSchemas.parse(event)
        agent.heard.push(event as unknown as Heard)
        if (event.type === EventType.TEXT_MESSAGE_CONTENT) noteHeard(String(event['delta']))
      },
    })
    return agent
  }

  return {
    agentAt,
    get threads(): ThreadClient {
      return fixture.threads
    },
    get url() {
      return server.url
    },
    /** A thread of the account, and its agent. */
    async start(id: string, agent = 'desk') {
      const thread = await fixture.threads.create({ agent, id, account: 'acme', userId: 'ann' })
      return { thread, agent: agentAt(`/threads/${id}/ag-ui`, { threadId: id }) }
    },
  }
}

let number = 0

/** Says something as the person. */
export function tell(agent: HttpAgent, content: string): string {
  const id = `said-${(number += 1)}`
  agent.messages.push({ id, role: 'user', content })
  return id
}

/** The transcript of the store in the words of AG-UI. */
export async function transcriptOf(threads: ThreadClient, threadId: string) {
  const { messages } = await threads.get(threadId).messages({ limit: 1_000 })
  return messagesOfRows(messages.filter(({ position }) => position !== null))
}

/** What a client shows, without reasoning that was taken back, and with what is undefined left out. */
export function shownBy({ messages }: Pick<HttpAgent, 'messages'>): unknown {
  const shown = messages.filter(({ role, content }) => role !== 'reasoning' || content !== '')
  return JSON.parse(JSON.stringify(shown))
}

export function typesOf(agent: DoorAgent): readonly string[] {
  return agent.heard.map(({ type }) => type)
}

export function lastOf(agent: DoorAgent): Heard | undefined {
  return agent.heard.at(-1)
}
