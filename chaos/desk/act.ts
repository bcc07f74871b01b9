import { setTimeout as delay } from 'node:timers/promises'

import type { ThreadState, ToolCall, ToolResult } from 'everthread'
import { z } from 'zod'

import type { Deed } from './deeds.js'
import type { Journal } from './journal.js'

/** `before` and `after` are milliseconds around the side effect, for kills to fall into. */
export const work = z.object({
  ref: z.string(),
  before: z.number().default(0),
  after: z.number().default(0),
})

export type Work = z.output<typeof work>

export type Execute = (state: ThreadState, args: Work, call: ToolCall) => Promise<ToolResult>

/** What a tool of that name does: a side effect that is counted outside of the store, and what else `answer` does. */
export type Act = (tool: string, answer?: (state: ThreadState, args: Work) => Promise<string>) => Execute

export function actingIn(journal: Journal<Deed>): Act {
  return (tool, answer) => async (state, args, call) => {
    await pause(state, args.before)
    journal.write({
      kind: 'tool',
      tool,
      threadId: state.threadId,
      callId: call.id,
      key: call.idempotencyKey,
      attempt: call.attempt,
      ref: args.ref,
      pid: process.pid,
    })
    const result = answer === undefined ? `${tool} done` : await answer(state, args)
    await pause(state, args.after)
    return { status: 'success', result: `${result} ${args.ref}` }
  }
}

/** The first try in a process throws, after its side effect. */
export function failingFirst(act: Execute): Execute {
  const tried = new Set<string>()
  return async (state, args, call) => {
    const answer = await act(state, args, call)
    if (tried.has(call.idempotencyKey)) return answer
    tried.add(call.idempotencyKey)
    throw new Error('Expected a second try.')
  }
}

/** Ended by a stop. */
export async function pause(state: ThreadState, milliseconds: number): Promise<void> {
  const signal = state.execution?.abortSignal
  await delay(milliseconds, undefined, signal === undefined ? {} : { signal })
}
