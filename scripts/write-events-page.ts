import { mkdir, writeFile } from 'node:fs/promises'

import { eventsPage } from './events-page.ts'

/** Writes docs/generated/events.md: a test says when it is not current. */
await mkdir(new URL('../docs/generated/', import.meta.url), { recursive: true })
await writeFile(new URL('../docs/generated/events.md', import.meta.url), eventsPage())
