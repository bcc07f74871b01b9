import { readFile } from 'node:fs/promises'
import { ConfigError } from '../protocol/errors.js'

/** The file that a flag names, else an environment variable. @throws ConfigError for a file that cannot be read */
export async function textOf(flag: string, file: unknown, variable: string): Promise<string> {
  if (typeof file !== 'string') return process.env[variable] ?? ''
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([`Expected --${flag} to name a file that can be read, got: ${reason}`])
  }
}

/** Tokens with what stands behind them, one a line or separated by commas; lines that begin with # are passed over. */
export function tokenLines(text: string): readonly TokenLine[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [token = '', ...words] = line.split(/\s+/)
      return { token, words }
    })
}

interface TokenLine {
  readonly token: string
  readonly words: readonly string[]
}
