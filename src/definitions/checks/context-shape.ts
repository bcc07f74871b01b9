/** The shapes of the fields of a prompt that bound its context. */
import { z } from 'zod'
import { LIMITS } from '../../protocol/limits.js'

const window = z.strictObject({ messages: z.int().min(2).max(LIMITS.contextRows) })

const compaction = z.strictObject({
  model: z.string().min(1).max(LIMITS.nameLength).optional(),
  summary: z.boolean().optional(),
  threshold: z.number().min(0.1).max(0.95).optional(),
  keep: z.number().min(0.1).max(0.9).optional(),
  keepResults: z.int().nonnegative().optional(),
  instructions: z.string().min(1).max(LIMITS.compactionFocus).optional(),
})

export const contextShape = {
  recentImageThreshold: z.int().nonnegative().optional(),
  window: window.optional(),
  compaction: compaction.optional(),
}
