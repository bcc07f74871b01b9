import { readFile } from 'node:fs/promises'

/** What this package says of itself. */
interface OwnPackage {
  readonly version: string
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

/** Reads our package.json, which is two folders above both the source and the built files. */
export async function readOwnPackage(): Promise<OwnPackage> {
  const text = await readFile(new URL('../../package.json', import.meta.url), 'utf8')
  // Our own file has this shape.
  return JSON.parse(text) as OwnPackage
}
