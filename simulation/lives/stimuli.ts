import * as client from '../outside/client.js'
import type { Client } from '../outside/client.js'
import { killChild, strangeSignal, strangeUpdate } from '../outside/stranger.js'
import type { ThreadRow } from '../store/rows.js'
import type { World } from '../world.js'

type Stimulus = (world: World, thread: ThreadRow) => Client | null

const STIMULI: readonly (readonly [number, string, Stimulus])[] = [
  [30, 'message', (world, thread) => client.sendMessage(world, thread, messageId(world, thread))],
  [8, 'stop', client.stopThread],
  [6, 'continue', client.continueThread],
  [12, 'respond', answerSome],
  [7, 'queueTool', client.queueTool],
  [5, 'setVariables', client.setVariables],
  [6, 'removeQueued', client.removeQueued],
  [6, 'promoteQueued', client.promoteQueued],
  [2, 'terminate', client.terminateThread],
  [7, 'stranger', strangeSignal],
  [3, 'strange update', strangeUpdate],
  [3, 'kill', killChild],
]

const ALL = STIMULI.reduce((sum, [weight]) => sum + weight, 0)

/** Something that comes from outside, to the thread or to one below it. */
export function chosenStimulus(world: World): Client | null {
  const { random } = world
  const threads = [...world.threads.values()]
  const thread = random.chance(0.75) ? world.threads.get('t') : random.pick([undefined, ...threads])
  if (thread === undefined) return null
  let drawn = random.below(ALL)
  for (const [weight, name, stimulus] of STIMULI) {
    drawn -= weight
    if (drawn >= 0) continue
    world.saw(`outside ${name}`)
    return stimulus(world, thread)
  }
  return null
}

/** A new one, or one that was sent before. */
function messageId(world: World, { messages }: ThreadRow): string {
  const sent = [...messages.values()].filter(({ by }) => by === 'client')
  return sent.length > 0 && world.random.chance(0.12) ? world.random.pick(sent).id : world.newId('message')
}

function answerSome(world: World, thread: ThreadRow): Client | null {
  const open = [...thread.requests.values()].filter(({ state }) => state !== 'closed')
  return open.length === 0 ? null : client.respond(world, thread, world.random.pick(open))
}
