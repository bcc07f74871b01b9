import { defineTool } from 'everthread'
import { z } from 'zod'

import { appendLine, findLine } from './back-office.ts'

export const open_ticket = defineTool({
  description: 'Open a ticket for the people in the workshop.',
  args: z.object({ subject: z.string(), details: z.string() }),
  // Not idempotent: cut off by a crash it is not run again, and the model is told that the outcome is unknown.
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
  // Run again after a crash, with the same key, by which the bank knows what it has booked already.
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

export const write_report = defineTool({
  description: 'Write or replace the report, as Markdown.',
  args: z.object({ text: z.string() }),
  idempotent: true,
  async execute(state, { text }) {
    const { path } = await state.writeFile('/report.md', text, 'text/markdown')
    return { status: 'success', result: `The report is at ${path}.` }
  },
})

export const approve = defineTool({
  description: 'Approve the report and hand it over. Ends the research.',
  args: z.object({ summary: z.string(), report: z.string().describe('Its path, /report.md') }),
  execute: () => ({ status: 'success' }),
})
