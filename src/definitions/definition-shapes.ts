import { z } from 'zod'

import { agentShape } from './agent-shape.js'
import { effectShape, hookShape, toolShape } from './code-shapes.js'
import { name } from './field-shapes.js'
import { modelShape } from './model-shape.js'
import { promptShape } from './prompt-shape.js'

/** What each kind of definition may look like: exactly these fields, so that none is ignored in silence. */
export const DEFINITION_SHAPES = {
  agents: agentShape,
  prompts: promptShape,
  models: modelShape,
  tools: toolShape,
  hooks: hookShape,
  effects: effectShape,
} as const

/** The key of a tool or an effect. */
export const KEY_SHAPE = name

/** What `registry()` takes. */
export const REGISTRY_SHAPE = z.strictObject({
  agents: z.array(z.unknown()),
  prompts: z.array(z.unknown()),
  models: z.array(z.unknown()),
  tools: byKey('tools').optional(),
  hooks: z.array(z.unknown()).optional(),
  effects: byKey('effects').optional(),
})

function byKey(what: string): z.ZodType {
  return z.custom(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    `expected an object of ${what}, by name: { my_name: … }`,
  )
}
