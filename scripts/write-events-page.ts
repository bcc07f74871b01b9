import { mkdir, writeFile } from 'node:fs/promises'

import { eventsPage } from './events-page.ts'
import { eventsSchemaText } from './events-schema.ts'

/** Writes docs/generated/events.md and events.schema.json: a test says when they are not current. */
await mkdir(new URL('../docs/generated/', import.meta.url), { recursive: true })
await writeFile(new URL('../docs/generated/events.md', import.meta.url), eventsPage())
await writeFile(new URL('../docs/generated/events.schema.json', import.meta.url), eventsSchemaText())
