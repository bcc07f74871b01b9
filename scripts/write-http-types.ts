import { writeFile } from 'node:fs/promises'

import { httpTypesText } from './http-types-text.js'

/** Writes src/http/generated/api-types.ts: a test says when it is not current. */
await writeFile(new URL('../src/http/generated/api-types.ts', import.meta.url), await httpTypesText())
