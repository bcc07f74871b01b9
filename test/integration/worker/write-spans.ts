/** Loaded before a worker process: an SDK that writes each span that has ended into a file, a line each. */
import { appendFileSync } from 'node:fs'

import { recordSpans } from '../../support/record-spans.js'

const file = process.env['EVERTHREAD_TEST_SPANS']
if (file === undefined) throw new Error('Expected EVERTHREAD_TEST_SPANS to name a file.')
recordSpans((span) => appendFileSync(file, `${JSON.stringify(span)}\n`))
