import { defineTool } from 'everthread'
import { z } from 'zod'

import { appendLine, findLine } from './back-office.ts'

export const open_ticket = defineTool({
  description: 'Open a ticket for the people in the workshop.',
  args: z.object({ subject: z.string(), details: z.string() }),
  // Not idempotent: after a crash it does not run again, and the model reads that the outcome is unknown.
  async execute(state, { subject, details }) {
    await appendLine('tickets.txt', `${subject}: ${details}`, state.execution?.abortSignal)
    return { status: 'success', result: `The ticket "${subject}" is open.` }
  },
})

export const find_ticket = defineTool({
  description: 'Look whether there is a ticket with this subject.',
  args: z.object({ subject: z.string() }),
  idempotent: true,
  async execute(_state, { subject }) {
    const ticket = await findLine('tickets.txt', `${subject}:`)
    return { status: 'success', result: ticket === undefined ? 'There is none.' : `There is one: ${ticket}` }
  },
})

export const refund_order = defineTool({
  description: 'Refund an order.',
  args: z.object({ order: z.string(), euros: z.number().positive() }),
  // Runs again after a crash, with the same key, by which the bank recognizes a repeated booking.
  idempotent: true,
  async execute(state, { order, euros }, { idempotencyKey }) {
    const line = `${order}, ${euros} euros, key ${idempotencyKey}`
    await appendLine('refunds.txt', line, state.execution?.abortSignal)
    return { status: 'success', result: `${euros} euros are refunded for ${order}.` }
  },
})

export const read_file = defineTool({
  description: 'Read a text file of this conversation.',
  args: z.object({ path: z.string() }),
  idempotent: true,
  async execute(state, { path }) {
    const bytes = await state.readFile(path)
    if (bytes === null) return { status: 'error', error: `There is no file ${path}.` }
    return { status: 'success', result: new TextDecoder().decode(bytes) }
  },
})

export const annotate = defineTool({
  description: 'Write a remark behind the line of a text file that has these words.',
  args: z.object({ path: z.string(), words: z.string(), remark: z.string() }),
  // Its writes to its thread take effect once, even if it runs again.
  idempotent: true,
  async execute(state, { path, words, remark }) {
    const text = new TextDecoder().decode((await state.readFile(path)) ?? undefined)
    const line = text.split('\n').find((one) => one.includes(words))
    if (line === undefined) return { status: 'error', error: `No line of ${path} has the words "${words}".` }
    await state.writeFile(path, text.replace(line, `${line} ← ${remark}`), 'text/plain')
    return { status: 'success', result: `The remark is behind the line "${line}".` }
  },
})

export const approve = defineTool({
  description: 'Approve the remarks and hand the files over. Ends the research, until it is asked again.',
  args: z.object({ summary: z.string(), files: z.array(z.string()).describe('Their paths; may be empty') }),
  execute: () => ({ status: 'success' }),
})
