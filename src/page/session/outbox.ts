/** Messages on their way, as the page shows them: the outbox of its client. */
import { signal } from '@preact/signals'
import { outboxOf } from '../../http/outbox.js'
import { client } from './api.js'

export const box = outboxOf(client)

export const outbox = signal(box.messages())

box.subscribe(() => (outbox.value = box.messages()))
