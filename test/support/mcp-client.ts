import { Client } from '@modelcontextprotocol/client'
import type { Transport } from '@modelcontextprotocol/client'
import { expect } from 'vitest'

/** The wire of today, and that of clients from before 2026-07-28. */
export const ERAS = { modern: 'auto', older: 'legacy' } as const
export type Era = keyof typeof ERAS

/** What a person does with a form; the test says it. */
export interface Person {
  readonly asked: readonly { readonly message: string; readonly requestedSchema: unknown }[]
  reply: {
    readonly action: 'accept' | 'decline' | 'cancel'
    readonly content?: Record<string, never> | object
  }
}

export interface McpUser {
  readonly client: Client
  readonly person: Person | null
  /** Calls a tool, which must not fail; its structured content. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each test has its own shape of the answer
  call(name: string, given?: object, onprogress?: (message: string) => void): Promise<any>
  /** Calls a tool that fails; the sentence of the error. */
  refused(name: string, given?: object): Promise<string>
  /** Reads an agent until it does not work any more. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  rest(id: string, after?: string): Promise<any>
  close(): Promise<void>
}

interface Connecting {
  readonly transport: Transport
  readonly era?: Era
  /** False: the client shows no forms. @default false */
  readonly asks?: boolean
}

/** The official client, as a program that has it would use it. */
export async function connectMcp({ transport, era = 'modern', asks = false }: Connecting): Promise<McpUser> {
  const client = new Client(
    { name: 'test-client', version: '1' },
    { capabilities: asks ? { elicitation: { form: {} } } : {}, versionNegotiation: { mode: ERAS[era] } },
  )
  const asked: { message: string; requestedSchema: unknown }[] = []
  const person: Person | null = asks ? { asked, reply: { action: 'decline' } } : null
  if (person !== null)
    client.setRequestHandler('elicitation/create', ({ params }) => {
      if (!('requestedSchema' in params)) throw new Error('Expected a form.')
      asked.push({ message: params.message, requestedSchema: params.requestedSchema })
      return person.reply as never
    })
  await client.connect(transport)
  const raw = async (name: string, given: object, onprogress?: (message: string) => void) =>
    client.callTool(
      { name, arguments: { ...given } },
      onprogress === undefined ? {} : { onprogress: ({ message = '' }) => onprogress(message) },
    )
  const call: McpUser['call'] = async (name, given = {}, onprogress) => {
    const result = await raw(name, given, onprogress)
    expect(result.isError, JSON.stringify(result)).toBeFalsy()
    return result.structuredContent
  }
  return {
    client,
    person,
    call,
    async refused(name, given = {}) {
      const { isError, content } = await raw(name, given)
      expect(isError, JSON.stringify(content)).toBe(true)
      const [first] = content as readonly { readonly text: string }[]
      return first?.text ?? ''
    },
    async rest(id, after) {
      for (;;) {
        const state = await call('agent_get', { id, ...(after !== undefined && { after }) })
        if (state.status !== 'working') return state
      }
    },
    close: () => client.close(),
  }
}
