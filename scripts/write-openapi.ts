import { writeFile } from 'node:fs/promises'

import { openApiText } from './open-api-text.js'

/** Writes docs/generated/openapi.json: a test says when it is not current. */
await writeFile(new URL('../docs/generated/openapi.json', import.meta.url), await openApiText())
