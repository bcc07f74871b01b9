import { join } from 'node:path'

import type { ThreadHandle } from 'everthread/client'

import { linesOf } from './back-office.ts'
import { check } from './check.ts'
import { countHistory, showCounts } from './history.ts'
import { showRun } from './show-run.ts'
import { showFiles, showLines, showLink, showTranscript } from './show-thread.ts'
import type { Stage } from './stage.ts'
import { bold, heading } from './terminal.ts'
import { deadline } from './within.ts'

const QUESTION = 'My new tent was wet inside after one night. What went wrong? My notes are attached.'
const NOTES =
  '22:40 it begins to rain\n01:15 drops at the seam above the door\n06:00 sleeping bag wet, floor dry\n'

/** A person's request, a tool, and a subagent that gets two messages: a file goes in, and comes back with remarks. */
export async function conversation(stage: Stage): Promise<void> {
  const { threads, broken, scripted, folder } = stage
  await stage.startWorker()
  const thread = await ask(stage)
  const patience = deadline(scripted ? 60 : 300, 'an answer')
  await showRun({ threads, thread, signal: AbortSignal.any([broken, patience]) })
  const run = await thread.waitUntilIdle({ timeout: '10 seconds' })
  check(run.reason === 'stop_on_response', `expected an answer, but the run ended with ${run.reason}`)
  const research = await researchOf(stage, thread)

  await showTranscript(thread, 'support')
  await showTranscript(research, 'research')
  checkNotes(await showFiles(thread))
  const tickets = await linesOf(join(folder, 'tickets.txt'))
  showLines('tickets.txt, to which the tool open_ticket appends', tickets)
  check(tickets.length === 1, `expected one ticket, found ${tickets.length}`)
  const counts = [await countHistory(threads, thread), await countHistory(threads, research)] as const
  showCounts({ support: counts[0], research: counts[1] })
  await showRequests(stage, counts[0].steps + counts[1].steps)
  showLink(threads, thread)
  await stage.leave(thread)
}

function ask({ threads }: Stage): Promise<ThreadHandle> {
  console.log(`\n${bold('ann')}: ${QUESTION} [notes.txt]`)
  const notes = { name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(NOTES) }
  return threads.create({
    agent: 'support',
    userId: 'ann',
    message: { content: QUESTION, attachments: [notes] },
    limits: { heartbeatTimeout: 5000 },
  })
}

/** One instance that got two messages, ended two sessions, and is still open. */
async function researchOf({ threads }: Stage, thread: ThreadHandle): Promise<ThreadHandle> {
  const { children } = await thread.snapshot()
  const [child] = children
  if (child === undefined) throw new Error('expected the support desk to start a research, but it did not')
  check(children.length === 1, `expected one research, found ${children.length}`)
  const research = threads.get(child.reference)
  const [{ messages }, { status }] = await Promise.all([research.messages(), research.snapshot()])
  const requests = messages.filter(({ role, prompt }) => role === 'user' && prompt === null).length
  check(requests === 2, `expected two messages to the research, found ${requests}`)
  check(status === 'idle', `expected the research to stay, but it is ${status}`)
  return research
}

/** The customer's file is unchanged, and beside it are the files that came back after each session. */
function checkNotes(files: ReadonlyMap<string, string>): void {
  const remarks = [...files.values()].map((text) => text.split('←').length - 1)
  const untouched = [...files.values()].filter((text) => text === NOTES).length
  check(untouched === 1, `expected the customer's notes as they were, found ${untouched} such files`)
  check(
    remarks.includes(1) && remarks.includes(2),
    `expected the notes back with one remark and with two, found files with ${remarks.join(', ')}`,
  )
}

/** The model's own count must be Temporal's. */
async function showRequests(stage: Stage, steps: number): Promise<void> {
  if (!stage.scripted) return
  const requests = await stage.requests()
  heading('Requests')
  console.log(`  the model's own process saw ${requests.length}, one for each step`)
  check(requests.length === steps, `expected ${steps} requests to the model, it saw ${requests.length}`)
}
