import { ThreadClient } from 'everthread/client'

/** By TEMPORAL_ADDRESS and the other variables of Everthread. */
export const threads = new ThreadClient()

export const AGENT = process.env['CHAT_AGENT'] ?? 'support'
