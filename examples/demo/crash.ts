import { join } from 'node:path'

import type { ThreadEvent } from 'everthread/client'

import { linesOf } from './back-office.ts'
import { check } from './check.ts'
import { showCrashCounts } from './crash-counts.ts'
import { countHistory, showCounts } from './history.ts'
import { showRun } from './show-run.ts'
import { showLink, showTranscript } from './show-thread.ts'
import type { Stage } from './stage.ts'
import { bold, red } from './terminal.ts'
import { deadline, until } from './within.ts'

const REQUEST = 'Order A-17, a lamp for 80 euros, arrived broken. I want a refund.'
/** Long enough to be killed in; the last worker has no such delay. */
const SLOW = { DEMO_BACK_OFFICE_DELAY: '60000' }
const KILLS = 3
/** The files that show that a tool has acted although its call is not finished. */
const EFFECTS: Readonly<Record<string, string>> = { open_ticket: 'tickets.txt', refund_order: 'refunds.txt' }

/** The worker is killed in a model call, in a tool call, and in a call of an idempotent tool; the thread continues. */
export async function crash(stage: Stage): Promise<void> {
  const { threads, broken } = stage
  const killer = await createKiller(stage)
  console.log(`\n${bold('ann')}: ${REQUEST}`)
  const limits = { heartbeatTimeout: 5000 }
  const thread = await threads.create({ agent: 'support', userId: 'ann', message: REQUEST, limits })
  const signal = AbortSignal.any([broken, deadline(120, 'the thread to go on after each kill')])
  await showRun({ threads, thread, signal, onEvent: (event) => killer.watch(event) })
  const run = await thread.waitUntilIdle({ timeout: '10 seconds' })
  check(run.reason === 'stop_on_response', `expected an answer, but the run ended with ${run.reason}`)
  check(
    killer.kills() === KILLS,
    `expected to kill the worker ${KILLS} times, did so ${killer.kills()} times`,
  )

  await showTranscript(thread, 'support')
  const counts = await countHistory(threads, thread)
  showCounts({ support: counts })
  check(counts.steps === 4, `expected four steps in Temporal's history, found ${counts.steps}`)
  await showCrashCounts(stage, thread)
  showLink(threads, thread)
  await stage.leave(thread)
}

interface Killer {
  /** Kills the worker if this event shows that it is in the middle of a call, and starts another. */
  watch(event: ThreadEvent): Promise<void>
  kills(): number
}

async function createKiller(stage: Stage): Promise<Killer> {
  let worker = await stage.startWorker(SLOW)
  let kills = 0
  const kill = async (where: string): Promise<void> => {
    kills += 1
    console.log(red(`\n  kill -9 ${worker.pid}, in the middle of ${where}`))
    await worker.kill()
    worker = await stage.startWorker(kills < KILLS ? SLOW : {})
  }
  return {
    kills: () => kills,
    async watch(event) {
      if (kills === 0 && isMidAnswer(event)) {
        await kill('the first answer')
        await answerWasCut(stage)
      }
      const effect = event.type === 'tool.started' ? EFFECTS[event.payload.name] : undefined
      if (event.type !== 'tool.started' || effect === undefined) return
      const file = join(stage.folder, effect)
      await until(`a line in ${effect}`, 10, async () => (await linesOf(file)).length > 0)
      await kill(`${event.payload.name}, whose line is in ${effect}`)
    },
  }
}

function isMidAnswer(event: ThreadEvent): boolean {
  return event.type === 'model.delta' && event.payload.offset > 40
}

async function answerWasCut(stage: Stage): Promise<void> {
  await until('the model to see its answer cut off', 10, async () => {
    const [first] = await stage.requests()
    check(first?.outcome !== 'finished', 'expected to kill in the middle of an answer, but it had ended')
    return first?.outcome === 'cut off'
  })
}
