import type { PeerPlace } from '../peers/peer-orders.js'
import { STEPS_AHEAD } from '../sides.js'

/** The integrations, by the names that they have in figures and namespaces. */
export const PEER_LOOPS = [
  'ai_sdk',
  'ai_sdk_streaming',
  'openai_agents',
] as const satisfies readonly PeerPlace['name'][]

/** Our own threads, with their option `runAhead`. */
export const THREAD_LOOPS = { thread: false, run_ahead: STEPS_AHEAD, run_ahead_20: 20 } as const
export type ThreadLoop = keyof typeof THREAD_LOOPS
const LOOPS = ['thread', 'run_ahead', 'run_ahead_20', ...PEER_LOOPS] as const

/** Turns of one loop and size, in a namespace of their own: the server counts by namespace. */
export interface Cell {
  readonly loop: (typeof LOOPS)[number]
  /** Calls of the tool, one a step. */
  readonly tools: number
  /** How long each answer of the model takes. */
  readonly seconds: number
  /** In one thread, one after the other. */
  readonly turns: number
}

/** The size whose turns are taken in one thread, of our own. */
const LONG_LIFE = { tools: 10, seconds: 8 } as const

const TOOLS = numbersOf('EVERTHREAD_BENCH_COST_TOOLS', '1,10,100')
const SECONDS = numbersOf('EVERTHREAD_BENCH_COST_SECONDS', '0,1,8')
const [TURNS = 0] = numbersOf('EVERTHREAD_BENCH_COST_TURNS', '10')

/** All of them, by loop and size. */
export function allCells(): readonly Cell[] {
  const sizes = TOOLS.flatMap((tools) => SECONDS.map((seconds) => ({ tools, seconds })))
  return LOOPS.flatMap((loop) =>
    sizes.map((size) => ({ loop, ...size, turns: turnsOf({ loop, ...size }) })).filter(saysMore),
  )
}

/** Activities of twenty steps are for slow models, and shorter turns are the same as with ten. */
function saysMore({ loop, tools, seconds }: Cell): boolean {
  return loop !== 'run_ahead_20' || (tools >= STEPS_AHEAD && seconds === Math.max(...SECONDS))
}

export function isThreadLoop(loop: Cell['loop']): loop is ThreadLoop {
  return Object.hasOwn(THREAD_LOOPS, loop)
}

function turnsOf({ loop, tools, seconds }: Omit<Cell, 'turns'>): number {
  const isLong = isThreadLoop(loop) && tools === LONG_LIFE.tools && seconds === LONG_LIFE.seconds
  return isLong ? TURNS : 1
}

/** How long the models of a cell take: most of its time. */
export function secondsOf({ tools, seconds, turns }: Cell): number {
  return turns * (tools + 1) * seconds
}

/** Of letters that the server does not change in its counters. */
export function namespaceOf({ loop, tools, seconds }: Cell): string {
  return `${loop}_${tools}_tools_${seconds}s`
}

function numbersOf(variable: string, otherwise: string): readonly number[] {
  const text = process.env[variable] ?? otherwise
  const numbers = text.split(',').map(Number)
  if (numbers.every((number) => Number.isInteger(number) && number >= 0)) return numbers
  throw new Error(`Expected ${variable} to be whole numbers such as ${otherwise}, got "${text}".`)
}
