import { defineEffect, defineTool } from 'everthread'
import { z } from 'zod'

import { actingIn, failingFirst, work } from './act.js'
import type { Deed } from './deeds.js'
import type { Journal } from './journal.js'
import { holding } from './hold.js'
import { takeNote } from './take-note.js'
import { stamp } from './stamp.js'

const ending = z.object({ ref: z.string(), summary: z.string(), files: z.array(z.string()).default([]) })

/** Tools of each rule of a cut call. */
export function chaosTools(journal: Journal<Deed>, gates: string) {
  const act = actingIn(journal)
  return {
    book: defineTool({ description: 'Books, once', args: work, execute: act('book') }),
    charge: defineTool({
      description: 'Charges; safe to repeat',
      args: work,
      idempotent: true,
      execute: act('charge'),
    }),
    retrying: defineTool({
      description: 'Fails at first',
      args: work,
      retry: { maximumAttempts: 3, initialInterval: 100 },
      execute: failingFirst(act('retrying')),
    }),
    permit: defineTool({
      description: 'Asks a person first',
      args: work,
      needsApproval: true,
      execute: act('permit'),
    }),
    note: defineTool({ description: 'Changes its thread', args: work, execute: act('note', takeNote) }),
    remind: defineTool({
      description: 'Puts work off',
      args: work,
      execute: act('remind', async (state, { ref, before }) => {
        await state.scheduleEffect('ring', { ref }, 200 + before * 5)
        return 'reminded'
      }),
    }),
    stamp: defineTool({
      description: 'Makes a file of another one',
      args: work.extend({ path: z.string() }),
      idempotent: true,
      execute: stamp,
    }),
    hold: defineTool({
      description: 'Waits while the queue is filled',
      args: work,
      idempotent: true,
      execute: holding(gates),
    }),
    tell: defineTool({
      description: 'Tells the parent',
      args: work,
      execute: act('tell', async (state, { ref }) => {
        await state.notifyParent(`told ${ref}`)
        await state.setStatus(`told ${ref}`)
        return 'said'
      }),
    }),
    deliver: endOfSession('Delivers the result'),
    give_up: endOfSession('Says that it cannot be done'),
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

/** Idempotent: a kill in its middle would else end a session without a result. */
function endOfSession(description: string) {
  return defineTool({
    description,
    args: ending,
    idempotent: true,
    execute: () => ({ status: 'success' }),
  })
}
