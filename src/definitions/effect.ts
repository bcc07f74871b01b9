import type { z } from 'zod'
import type { ThreadState } from './thread-state.js'
import type { ToolArguments } from './tool.js'

/** Durable work for later. Its name is its key in the registry. */
export interface EffectDefinition<Schema extends z.ZodObject | undefined = z.ZodObject | undefined> {
  readonly description: string
  readonly args?: Schema
  /** `state.execution` is null, because no run is active. */
  execute(state: ThreadState, args: ToolArguments<Schema>): void | Promise<void>
}

/** Declares an effect; `registry()` checks it. `execute` gets the parsed arguments. */
export function defineEffect<Schema extends z.ZodObject | undefined = undefined>(
  description: string,
  args: Schema,
  execute: EffectDefinition<Schema>['execute'],
): EffectDefinition<Schema>
export function defineEffect(
  description: string,
  execute: EffectDefinition<undefined>['execute'],
): EffectDefinition<undefined>
export function defineEffect(
  description: string,
  ...rest:
    | readonly [z.ZodObject | undefined, EffectDefinition['execute']]
    | readonly [EffectDefinition['execute']]
): EffectDefinition {
  const [args, execute] = rest.length === 1 ? [undefined, rest[0]] : rest
  return { description, execute, ...(args === undefined ? {} : { args }) }
}
