import { join } from 'node:path'

import type { ThreadHandle } from 'everthread/client'

import { linesOf } from './back-office.ts'
import { check } from './check.ts'
import type { SeenRequest } from './demo-model.ts'
import type { Stage } from './stage.ts'
import { heading, table } from './terminal.ts'

/** Which work was repeated, counted outside Everthread: by the model, and in the tools' files. */
export async function showCrashCounts(stage: Stage, thread: ThreadHandle): Promise<void> {
  heading('Counted outside Everthread')
  checkRequests(await stage.requests())

  const tickets = await linesOf(join(stage.folder, 'tickets.txt'))
  const { messages } = await thread.messages()
  const outcome = messages.find(({ name }) => name === 'open_ticket')?.content ?? ''
  console.log('  tickets.txt: open_ticket is not idempotent, so it was not run again; the model was told')
  console.log('  that its outcome is unknown, and looked')
  for (const line of tickets) console.log(`    ${line}`)
  check(tickets.length === 1, `expected one line in tickets.txt, found ${tickets.length}`)
  check(
    outcome.includes('unknown'),
    `expected the model to read that the outcome is unknown, it read: ${outcome}`,
  )

  const refunds = await linesOf(join(stage.folder, 'refunds.txt'))
  console.log('  refunds.txt: refund_order is idempotent, so it was run again, with the same key')
  for (const line of refunds) console.log(`    ${line}`)
  const same = new Set(refunds).size
  check(
    refunds.length === 2 && same === 1,
    `expected two equal lines in refunds.txt, found ${refunds.length}`,
  )
}

/** A request with the same messages is the same step. */
function checkRequests(requests: readonly SeenRequest[]): void {
  const steps = [...new Set(requests.map(({ messages }) => messages))]
  const counts = steps.map((step) => {
    const outcomes = requests.filter(({ messages }) => messages === step).map(({ outcome }) => outcome)
    const count = (wanted: string): number => outcomes.filter((outcome) => outcome === wanted).length
    return { requests: outcomes.length, finished: count('finished'), cut: count('cut off') }
  })
  console.log("  requests to the model, by the model's own process")
  const rows = counts.map((count, index) =>
    [index + 1, count.requests, count.finished, count.cut].map(String),
  )
  table([['step', 'requests', 'finished', 'cut off'], ...rows], '    ')
  counts.forEach(({ finished, cut }, index) => {
    const [step, expected] = [index + 1, index === 0 ? 1 : 0]
    check(finished === 1, `expected the answer of step ${step} to be finished once, it was ${finished} times`)
    check(cut === expected, `expected ${expected} cut answers in step ${step}, there were ${cut}`)
  })
  console.log('    no answer that was finished was asked for again')
  check(counts.length === 4, `expected four steps, there were ${counts.length}`)
}
