import { z } from '@hono/zod-openapi'

import { fields, microseconds } from './parts.js'

/** A file or folder of a thread. */
export const fileRecord = z
  .object({
    path: z.string(),
    name: z.string(),
    mimeType: z.string(),
    storage: z.literal('local'),
    size: z.int(),
    isDirectory: z.boolean(),
    metadata: fields.nullable(),
    width: z.int().nullable(),
    height: z.int().nullable(),
    createdAt: microseconds,
    updatedAt: microseconds,
  })
  .openapi('File')
