import { setTimeout as delay } from 'node:timers/promises'

import { defineEffect, defineTool } from 'everthread'
import type { ThreadState, ToolCall, ToolResult } from 'everthread'
import { z } from 'zod'

import { digestOf, expectedBytes, stampedName } from './chaos-files.js'
import type { Deed } from './deeds.js'
import type { Journal } from './journal.js'

/** `before` and `after` are milliseconds around the side effect, for kills to fall into. */
const work = z.object({ ref: z.string(), before: z.number().default(0), after: z.number().default(0) })
type Work = z.output<typeof work>

const ending = z.object({ ref: z.string(), summary: z.string(), files: z.array(z.string()).default([]) })

/** Tools of each rule of a cut call, whose side effects are counted outside of the store, and an effect. */
export function chaosTools(journal: Journal<Deed>) {
  const acting =
    (
      tool: string,
      answer: (state: ThreadState, args: Work) => Promise<string> = async () => `${tool} done`,
    ) =>
    async (state: ThreadState, args: Work, call: ToolCall): Promise<ToolResult> => {
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
      const result = await answer(state, args)
      await pause(state, args.after)
      return { status: 'success', result: `${result} ${args.ref}` }
    }
  return {
    book: defineTool({ description: 'Books, once', args: work, execute: acting('book') }),
    charge: defineTool({
      description: 'Charges; safe to repeat',
      args: work,
      idempotent: true,
      execute: acting('charge'),
    }),
    retrying: defineTool({
      description: 'Fails at first',
      args: work,
      retry: { maximumAttempts: 3, initialInterval: 100 },
      execute: failingFirst(acting('retrying')),
    }),
    permit: defineTool({
      description: 'Asks a person first',
      args: work,
      needsApproval: true,
      execute: acting('permit'),
    }),
    note: defineTool({ description: 'Changes its thread', args: work, execute: acting('note', takeNote) }),
    remind: defineTool({
      description: 'Puts work off',
      args: work,
      async execute(state, args, call) {
        await state.scheduleEffect('ring', { ref: args.ref }, 200 + args.before * 5)
        return acting('remind')(state, args, call)
      },
    }),
    stamp: defineTool({
      description: 'Changes a file',
      args: work.extend({ path: z.string() }),
      idempotent: true,
      execute: stamp,
    }),
    tell: defineTool({
      description: 'Tells the parent',
      args: work,
      async execute(state, args, call) {
        await state.notifyParent(`told ${args.ref}`)
        await state.setStatus(`told ${args.ref}`)
        return acting('tell')(state, args, call)
      },
    }),
    // A kill in its middle would else end a session without a result.
    deliver: defineTool({
      description: 'Delivers the result',
      args: ending,
      idempotent: true,
      execute: () => ({ status: 'success' }),
    }),
    give_up: defineTool({
      description: 'Says that it cannot be done',
      args: ending,
      idempotent: true,
      execute: () => ({ status: 'success' }),
    }),
  }
}

/** Work that was put off: it says so to its thread. */
export function chaosEffects(journal: Journal<Deed>) {
  return {
    ring: defineEffect('Rings', z.object({ ref: z.string() }), async (state, { ref }) => {
      journal.write({ kind: 'effect', threadId: state.threadId, ref, pid: process.pid })
      await state.queueMessage({ role: 'user', content: `rang ${ref}` })
    }),
  }
}

async function pause(state: ThreadState, milliseconds: number): Promise<void> {
  const signal = state.execution?.abortSignal
  await delay(milliseconds, undefined, signal === undefined ? {} : { signal })
}

/** The first try in a process throws, after its side effect. */
function failingFirst(
  act: (state: ThreadState, args: Work, call: ToolCall) => Promise<ToolResult>,
): typeof act {
  const tried = new Set<string>()
  return async (state, args, call) => {
    const answer = await act(state, args, call)
    if (tried.has(call.idempotencyKey)) return answer
    tried.add(call.idempotencyKey)
    throw new Error('Expected a second try.')
  }
}

/** A number that only whole calls move on, a file and a message: all three are there once, or none (T9). */
async function takeNote(state: ThreadState, { ref }: Work): Promise<string> {
  const before = await state.getValue('notes')
  const count = (typeof before === 'number' ? before : 0) + 1
  await state.setValue('notes', count)
  await state.writeFile(`/notes/${ref.slice(1, -1)}.txt`, ref, 'text/plain')
  await state.queueMessage({ role: 'user', content: `noted ${ref}`, silent: true })
  return `note ${count}`
}

/** Reads a file, whose name says what it must be, and makes another one of it. */
async function stamp(state: ThreadState, args: Work & { readonly path: string }): Promise<ToolResult> {
  const name = args.path.split('/').at(-1) ?? ''
  const bytes = await state.readFile(args.path)
  const expected = expectedBytes(name)
  if (bytes === null || expected === null) return { status: 'error', error: `There is no ${args.path}.` }
  if (digestOf(new Uint8Array(bytes)) !== digestOf(expected))
    return { status: 'error', error: `Damaged: ${args.path}.` }
  await pause(state, args.before)
  const data = new Uint8Array(bytes).toReversed()
  const attachment = { name: stampedName(name), mimeType: 'application/octet-stream', data }
  return { status: 'success', result: `stamped ${args.ref}`, attachments: [attachment] }
}
