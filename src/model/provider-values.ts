/** What a provider sends has types for the compiler alone: its library passes on what came. None of it may fail a commit. */
import type { SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { isObject } from '../protocol/values.js'

/** More tokens than any answer has: a sum of them stays a whole number. */
const MOST_TOKENS = 1e12

/** A text, or '' for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The arguments of a call as raw JSON text: a parsed value is written out, and what cannot be is ''. */
export function argumentsOf(value: unknown): string {
  return typeof value === 'string' ? value : (jsonTextOf(value) ?? '')
}

/** Tokens: a whole number from 0 on; 0 for what is none. */
export function tokensOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.round(Math.min(value, MOST_TOKENS)) : 0
}

/** What of its metadata is JSON, by provider; undefined where nothing is. */
export function metadataOf(value: unknown): SharedV4ProviderMetadata | undefined {
  const text = jsonTextOf(value)
  const metadata: unknown = text === undefined ? undefined : JSON.parse(text)
  if (!isObject(metadata)) return undefined
  const entries = Object.entries(metadata).filter(([, fields]) => isObject(fields))
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as SharedV4ProviderMetadata)
}

function jsonTextOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined
  } catch {
    // A ring, a BigInt, or something that throws when it is read.
    return undefined
  }
}
