import type { ThreadStart } from '../../src/protocol/messages.js'
import type { ControlSnapshot } from '../../src/protocol/status.js'
import { continueThread, respond, sendMessage, terminateThread } from '../outside/client.js'
import type { Client } from '../outside/client.js'
import { WORDS } from '../outside/words.js'
import { checkRest } from '../rules/rest-rules.js'
import { watchSteps } from '../rules/step-rules.js'
import { stage } from '../store/messages.js'
import { newThread } from '../store/rows.js'
import type { ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'
import { Attempts } from './attempts.js'
import { chosenStimulus } from './stimuli.js'

/** Far more than any life needs: one that takes more never comes to rest. */
const MOST_STEPS = 6000

/** Children are looked for each minute at first, and every hour in the end: all else that waits is due before. */
const MOST_IDLE_TIMERS = 8

interface Life {
  readonly world: World
  readonly attempts: Attempts
  readonly clients: Client[]
  /** What each client waits for. */
  readonly waits: Map<Client, () => boolean>
  /** Things that still come from outside. */
  left: number
  steps: number
  /** Timers that rang in a row, after which a thread only looked for children that owe it something. */
  idleTimers: number
  /** Activities that did more than that. */
  work: number
}

/** One life of a thread and those that it starts, under whatever may happen, until all are at rest; then the rules look. */
export async function live(world: World): Promise<void> {
  const before = Date.now
  Date.now = () => world.now
  try {
    watchSteps(world)
    begin(world)
    const { random } = world
    const left = 1 + random.below(random.pick([1, 3, 6, 16]))
    const life: Life = {
      world,
      attempts: new Attempts(world),
      clients: [],
      waits: new Map(),
      left,
      steps: 0,
      idleTimers: 0,
      work: 0,
    }
    await toRest(life)
    if (world.broken.length === 0) await comeToAnEnd(life)
    if (world.broken.length === 0) await checkRest(world)
  } finally {
    Date.now = before
  }
}

function begin(world: World): void {
  const { random } = world
  const agent = random.pick(['clerk', 'clerk', 'boss', 'pair'])
  const isStaged = random.chance(0.8)
  const start: ThreadStart = {
    agent,
    ...(isStaged && random.chance(0.5) ? { message: { messageId: 'first' } } : {}),
    // From the command line, without a row.
    ...(!isStaged && agent !== 'pair' ? { message: { content: `${WORDS} first` } } : {}),
    ...(random.chance(0.1) ? { resumable: false } : {}),
    ...(random.chance(0.3) ? { limits: { historyEvents: random.pick([0, 15, 40]) } } : {}),
  }
  if (isStaged) {
    const thread = newThread({ id: 't', agent, parent: null, depth: 0, resumable: start.resumable !== false })
    thread.variables = random.chance(0.9)
    thread.events.push({ type: 'thread.started' })
    world.threads.set('t', thread)
    if (start.message !== undefined) stage(thread, { id: 'first', role: 'user', by: 'client' })
  }
  world.tell(() => `t starts ${JSON.stringify(start)}`)
  world.server.start('t', JSON.stringify(start))
}

/** Until nothing more happens by itself, and nothing comes from outside. */
async function toRest(life: Life): Promise<void> {
  const { world } = life
  while (world.broken.length === 0) {
    life.steps += 1
    if (life.steps > MOST_STEPS) return world.breaks('stuck: never at rest', `after ${MOST_STEPS} steps`)
    world.now += 1
    if (life.left > 0 && world.random.chance(0.12)) stimulate(life)
    const fault = world.may(0.012)
    if (fault) misfortune(life)
    const next = chosenStep(life)
    if (next !== null) await next()
    else if (!nextTimer(life)) {
      life.idleTimers = 0
      if (life.left === 0) return
      if (world.random.chance(0.95)) stimulate(life)
      else life.left = 0
    }
  }
}

function stimulate(life: Life): void {
  life.left -= 1
  const client = chosenStimulus(life.world)
  if (client !== null) life.clients.push(client)
}

/** A worker dies, a cache is lost, a beat is missed. */
function misfortune({ world, attempts }: Life): void {
  const { server, random } = world
  const kind = random.pick(['evict', 'evict', 'miss', 'miss', 'die'])
  world.saw(`fault ${kind}`)
  world.tell(() => `fault: ${kind}`)
  if (kind === 'miss') {
    const running = [...attempts.running]
    if (running.length > 0) attempts.miss(random.pick(running))
    return
  }
  const runs = [...server.openRuns]
  if (kind === 'die') attempts.die()
  for (const run of runs) if (kind === 'die' || random.chance(0.5)) server.loseTask(run)
}

type Step = () => void | Promise<void>

/** One of all that may happen now; null: nothing happens by itself. Those at the end come first when nobody chooses. */
function chosenStep(life: Life): Step | null {
  const { world, attempts, clients } = life
  const { server } = world
  const steps: Step[] = []
  for (const client of clients) if (life.waits.get(client)?.() !== false) steps.push(() => goOn(life, client))
  for (const running of attempts.running) steps.push(() => attempts.step(running))
  for (const activity of server.activities)
    if (activity.state === 'scheduled') steps.push(() => attempts.begin(activity))
  for (const transfer of server.transfers)
    steps.push(() => {
      server.transfers.splice(server.transfers.indexOf(transfer), 1)
      server.carryOut(transfer)
    })
  for (const run of server.openRuns) {
    for (const [seq, at] of run.timers) if (at <= world.now) steps.push(() => server.fireTimer(run, seq))
    if (run.task !== null) steps.push(() => server.completeTask(run))
    else if (run.isNew || run.waiting.length > 0) steps.push(() => server.beginTask(run))
  }
  return steps.length === 0 ? null : world.random.pick(steps)
}

function goOn({ clients, waits }: Life, client: Client): void {
  const { done, value } = client.next()
  if (done === true) clients.splice(clients.indexOf(client), 1)
  else waits.set(client, value)
}

/** Time passes until the next timer rings; a parent that looks for a child ever again, which waits for a person, rests. */
function nextTimer(life: Life): boolean {
  const { world } = life
  const times = [...world.server.openRuns].flatMap(({ timers }) => [...timers.values()])
  const work = world.work
  life.idleTimers = work === life.work ? life.idleTimers + 1 : 0
  life.work = work
  if (times.length === 0 || life.idleTimers > MOST_IDLE_TIMERS) return false
  world.now = Math.max(world.now, Math.min(...times))
  return true
}

/** Nothing unusual happens any more: what is asked for is answered, and sometimes all of it is ended. */
async function comeToAnEnd(life: Life): Promise<void> {
  const { world } = life
  const { random } = world
  world.calm = true
  for (let round = 0; round < 60 && world.broken.length === 0; round += 1) {
    const asked = await answerAll(life)
    await toRest(life)
    if (!asked) break
  }
  const root = world.threads.get('t')
  if (root === undefined) return
  const way = random.pick(['terminate', 'message', 'continue', 'rest', 'rest'])
  world.saw(`end ${way}`)
  if (way === 'terminate') life.clients.push(terminateThread(world, root))
  if (way === 'message') life.clients.push(sendMessage(world, root, 'last'))
  if (way === 'continue') life.clients.push(continueThread(world, root))
  await toRest(life)
  for (let round = 0; round < 60 && world.broken.length === 0 && (await answerAll(life)); round += 1)
    await toRest(life)
}

/** Answers every request that a workflow waits for; false: there is none. */
async function answerAll(life: Life): Promise<boolean> {
  const { world, clients } = life
  let asked = false
  for (const run of [...world.server.openRuns]) {
    const instance = await world.server.instanceOf(run)
    const { pending } = instance.query('snapshot') as ControlSnapshot
    const thread: ThreadRow | undefined = world.threads.get(run.workflowId)
    for (const { id } of pending) {
      const request = thread?.requests.get(id)
      if (thread === undefined || request === undefined || request.state === 'closed') continue
      asked = true
      clients.push(respond(world, thread, request))
    }
  }
  return asked
}
