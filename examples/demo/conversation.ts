import { join } from 'node:path'

import { linesOf } from './back-office.ts'
import { check } from './check.ts'
import { countHistory, showCounts } from './history.ts'
import type { HistoryCounts } from './history.ts'
import { showRun } from './show-run.ts'
import { showFiles, showLines, showLink, showTranscript } from './show-thread.ts'
import type { Stage } from './stage.ts'
import { bold, heading } from './terminal.ts'
import { deadline } from './within.ts'

const QUESTION = 'My new tent was wet inside after one night. What went wrong? My notes are attached.'
const NOTES =
  '22:40 it begins to rain\n01:15 drops at the seam above the door\n06:00 sleeping bag wet, floor dry\n'

/** A person's request, a tool, and a subagent that gets a file and gives one back. */
export async function conversation(stage: Stage): Promise<void> {
  const { threads, broken, scripted, folder } = stage
  await stage.startWorker()
  console.log(`\n${bold('ann')}: ${QUESTION} [notes.txt]`)
  const thread = await threads.create({
    agent: 'support',
    userId: 'ann',
    message: {
      content: QUESTION,
      attachments: [{ name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(NOTES) }],
    },
    limits: { heartbeatTimeout: 5000 },
  })
  const patience = deadline(scripted ? 30 : 300, 'an answer')
  await showRun({ threads, thread, signal: AbortSignal.any([broken, patience]) })
  const run = await thread.waitUntilIdle({ timeout: '10 seconds' })
  const [child] = (await thread.snapshot()).children
  check(run.reason === 'stop_on_response', `expected an answer, but the run ended with ${run.reason}`)
  check(child !== undefined, 'expected the support desk to start a research, but it did not')

  const counts = new Map<string, HistoryCounts>()
  for (const [name, id] of [
    ['support', thread.threadId],
    ['research', child?.reference ?? ''],
  ] as const) {
    const one = threads.get(id)
    await showTranscript(one, name)
    counts.set(name, await countHistory(threads, one))
  }
  const report = await showFiles(thread)
  const tickets = await linesOf(join(folder, 'tickets.txt'))
  showLines('tickets.txt, to which the tool open_ticket appends', tickets)
  showCounts(counts)
  await showRequests(stage, counts)
  showLink(threads, thread)
  check(report.includes('seam'), 'expected a report that quotes the notes in the thread, found none')
  check(tickets.length === 1, `expected one ticket, found ${tickets.length}`)
  await stage.leave(thread)
}

/** The model's own count must be Temporal's. */
async function showRequests(stage: Stage, counts: ReadonlyMap<string, HistoryCounts>): Promise<void> {
  if (!stage.scripted) return
  const requests = await stage.requests()
  const steps = [...counts.values()].reduce((sum, { steps: some }) => sum + some, 0)
  heading('Requests')
  console.log(`  the model's own process saw ${requests.length}, one for each step`)
  check(requests.length === steps, `expected ${steps} requests to the model, it saw ${requests.length}`)
}
