import { parseArgs } from 'node:util'
import type { Choices } from './lives/schedule.js'
import { MUTATIONS } from './mutations.js'
import { choicesOf } from './share.js'

/** What the command line asks for. */
export interface SimulateOptions {
  readonly schedules: number
  readonly seed: number
  /** One schedule instead, choice by choice. */
  readonly replay: Choices | null
  /** Name of the fault that the logic has. */
  readonly mutation: string | null
  /** Whether each known fault has to be found. */
  readonly mutations: boolean
  readonly json: boolean
}

export const USAGE =
  'npm run simulate -- [--schedules N] [--seed S] [--mutation NAME] [--json] | --replay WORD | --mutations'

/** @throws with one sentence for what cannot be understood */
export function readOptions(line: readonly string[]): SimulateOptions {
  const { values } = parseArgs({
    args: [...line],
    options: {
      schedules: { type: 'string', default: '10000' },
      seed: { type: 'string', default: '1' },
      replay: { type: 'string' },
      mutation: { type: 'string' },
      mutations: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  const { replay, mutation = null, mutations, json } = values
  if (mutation !== null && !MUTATIONS.some(({ name }) => name === mutation))
    throw new Error(`Expected a name that --mutations prints for --mutation, got "${mutation}".`)
  return {
    schedules: whole(values.schedules, '--schedules'),
    seed: whole(values.seed, '--seed'),
    replay: replay === undefined ? null : choicesOf(replay),
    mutation,
    mutations,
    json,
  }
}

function whole(text: string, option: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw new Error(`Expected a whole number from 1 for ${option}, got "${text}".`)
}
