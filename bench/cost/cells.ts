import type { PeerPlace } from '../peers/peer-orders.js'

/** The integrations, by the names that they have in figures and namespaces. */
export const PEER_LOOPS = [
  'ai_sdk',
  'ai_sdk_streaming',
  'openai_agents',
] as const satisfies readonly PeerPlace['name'][]
const LOOPS = ['thread', ...PEER_LOOPS] as const

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
  return LOOPS.flatMap((loop) =>
    TOOLS.flatMap((tools) =>
      SECONDS.map((seconds) => ({ loop, tools, seconds, turns: turnsOf({ loop, tools, seconds }) })),
    ),
  )
}

function turnsOf({ loop, tools, seconds }: Omit<Cell, 'turns'>): number {
  const isLong = loop === 'thread' && tools === LONG_LIFE.tools && seconds === LONG_LIFE.seconds
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
