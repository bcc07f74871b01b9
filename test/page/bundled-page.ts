import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { rolldown } from 'rolldown'

/** The script of a page, with the packages and sources that it imports, as a browser takes it. */
export async function bundlePage(name: string, code: string): Promise<string> {
  const folder = fileURLToPath(new URL(`../../test-results/${name}/`, import.meta.url))
  await mkdir(folder, { recursive: true })
  const input = join(folder, 'page.js')
  await writeFile(input, code)
  const bundle = await rolldown({
    ...{ input, platform: 'browser' },
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  })
  const { output } = await bundle.generate({ format: 'esm' })
  return output[0].code
}
