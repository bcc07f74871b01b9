import { z } from 'zod'

// First, for everything below needs zod 4.
import './zod-version.js'
import { LIMITS } from '../protocol/limits.js'
import { isTaskQueue, variableNameProblem } from '../protocol/values.js'

/** A text that says something. */
export const text = z.string().refine((value) => value.trim() !== '', 'must not be empty')

export const name = text.max(LIMITS.nameLength)

/** Of a variable that something reads. */
export const variableName = z.string().superRefine((value, context) => {
  const problem = variableNameProblem(value)
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem })
})

export const taskQueue = name.refine(
  isTaskQueue,
  'expected a name of a task queue: no control characters, and no /_sys/ at its beginning',
)

export const count = z.int().positive()

/** The shape of arguments. */
export const schema = z.custom<z.ZodObject>(
  (value) => value instanceof z.ZodObject,
  'expected a z.object of zod 4',
)

export const execute = z.custom((value) => typeof value === 'function', 'expected a function')

/** By provider key of the AI SDK. */
export const providerOptions = z.record(z.string(), z.record(z.string(), z.json()))

/** Values of variables, by name. */
export const env = z.record(z.string(), z.string())

export const hookIds = z.array(name)

export const variables = z.array(
  z.strictObject({
    name,
    type: z.enum(['text', 'secret']),
    required: z.boolean(),
    scoped: z.boolean().optional(),
    description: z.string(),
  }),
)
