import type { Choices } from './lives/schedule.js'
import type { Broken } from './world.js'

/** What one thread of a simulation does. */
export interface Share {
  readonly seed: number
  /** Seeds from `seed` on, of which it takes every `step`-th. */
  readonly schedules: number
  readonly step: number
  /** One schedule instead, choice by choice. */
  readonly replay: Choices | null
  /** A broken rule is all that is asked for: no shorter schedule is looked for. */
  readonly stopsAtFirst: boolean
  /** Set by the first one that finds a failure: the others come to their end. */
  readonly stop?: Int32Array
  /** Name of a mutation. */
  readonly mutation?: string
}

export interface Failure {
  readonly seed: number | null
  readonly broken: Broken
  readonly choices: Choices
  readonly story: readonly string[]
}

export interface ShareResult {
  readonly kind: 'result'
  readonly done: number
  readonly failure: Failure | null
  readonly seen: readonly (readonly [string, number])[]
}

/** Choices as a word for a command line: two digits each, of base 36. */
export function wordOf(choices: Choices): string {
  return choices.map((choice) => choice.toString(36).padStart(2, '0')).join('')
}

/** @throws for a word that is none */
export function choicesOf(word: string): Choices {
  if (!/^([0-9a-z]{2})*$/.test(word))
    throw new Error('Expected a schedule of two digits a choice, as a failure prints it.')
  return (word.match(/../g) ?? []).map((digits) => Number.parseInt(digits, 36))
}
