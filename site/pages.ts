// Owns: the pages of the site as files of one folder, from which the generator builds: their addresses, their links, and pages
// that show code to which pages link.
// Does not own: which pages there are (navigation.ts), and what the generator makes of Markdown.
// Invariants: S1: each link of a page leads to a page or a file of the site, else the build fails and names it. S2: sources are
// read only.
import { globSync, readFileSync, statSync } from 'node:fs'
import { basename, join, posix } from 'node:path'

export interface SitePage {
  /** In the site, such as `guide/agent.md`. */
  readonly address: string
  /** Of its first heading, without marks. */
  readonly title: string
  readonly markdown: string
}

export interface SiteFiles {
  readonly pages: readonly SitePage[]
  /** Files of the repository that the site has as they are, by their addresses. */
  readonly files: ReadonlyMap<string, string>
  readonly problems: readonly string[]
}

/** Copied as they are. */
const AS_IT_IS = /\.(?:json|png|svg|webp)$/
/** Installed or built beside an example. */
const NOT_CODE = /(?:^|\/)(?:node_modules|dist|\..+)$/
/** Shown as code. */
const LANGUAGES: Readonly<Record<string, string>> = {
  ts: 'ts',
  tsx: 'tsx',
  js: 'js',
  mjs: 'js',
  json: 'json',
  html: 'html',
  css: 'css',
  py: 'python',
  sh: 'sh',
  sql: 'sql',
  md: 'md',
  txt: 'text',
}

/** The address of a page, file or folder of the repository: `docs` is the site's own root. */
export function addressOf(path: string): string {
  if (path === 'README.md') return 'index.md'
  if (path.endsWith('.md') && !path.includes('/')) return path.toLowerCase()
  return path.replace(/^docs\//, '').replace(/(^|\/)README\.md$/, '$1index.md')
}

/** Reads the pages, and what they link to; `root` is the repository. */
export function readPages(root: string, sources: readonly string[]): SiteFiles {
  const pages = new Map<string, SitePage>()
  const files = new Map<string, string>()
  const problems: string[] = []
  const waiting = [...sources]
  /** The address that a link leads to; what it names becomes a part of the site. */
  const follow = (page: string, target: string): string | undefined => {
    const path = target.replace(/\/$/, '')
    const kind = statSync(join(root, path), { throwIfNoEntry: false })
    if (kind === undefined || path.startsWith('..')) {
      problems.push(`Expected what ${page} links to, got no ${path}: mend the link`)
      return undefined
    }
    if (AS_IT_IS.test(path)) {
      files.set(addressOf(path), path)
      return addressOf(path)
    }
    const source = kind.isDirectory() ? path : path.replace(/^(examples\/.+)\/README\.md$/, '$1')
    if (!waiting.includes(source)) waiting.push(source)
    return source.endsWith('.md') ? addressOf(source) : `${source}/index.md`
  }
  for (const source of waiting) {
    const isPage = source.endsWith('.md')
    const from = isPage ? source : `${source}/README.md`
    const text = isPage ? readFileSync(join(root, source), 'utf8') : codePage(root, source)
    const address = addressOf(from)
    const markdown = withLinks(withoutComments(text), (link) => {
      const [file = '', anchor] = link.split('#')
      if (file === '') return link
      const found = follow(source, posix.normalize(posix.join(posix.dirname(from), file)))
      if (found === undefined) return link
      return `${relativeTo(address, found)}${anchor === undefined ? '' : `#${anchor}`}`
    })
    pages.set(address, { address, title: titleOf(markdown), markdown })
  }
  return { pages: [...pages.values()], files, problems }
}

function relativeTo(page: string, target: string): string {
  const path = posix.relative(posix.dirname(page), target)
  return path.startsWith('.') ? path : `./${path}`
}

const withoutComments = (markdown: string): string => markdown.replaceAll(/^<!--.*-->\n+/gm, '')

/** Changes the targets of links to pages and files; code, and links to other sites, stay as they are. */
export function withLinks(markdown: string, change: (target: string) => string): string {
  return markdown
    .split(/(^`{3,}[\s\S]*?^`{3,}$|`[^`\n]*`)/gm)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\]\(([^)\s]+)\)/g, (link, target: string) =>
            /^[a-z]+:/.test(target) ? link : `](${change(target)})`,
          ),
    )
    .join('')
}

/** The first heading's text. */
export function titleOf(markdown: string): string {
  const [, heading = ''] = /^# (.*)$/m.exec(markdown) ?? []
  return heading.replaceAll(/\]\([^)]*\)|[[\]`]/g, '').replaceAll(/\\(.)/g, '$1')
}

/** A folder of code as a page: its own words, and its files. */
function codePage(root: string, folder: string): string {
  const read = (file: string): string => readFileSync(join(root, folder, file), 'utf8').trimEnd()
  const files = globSync('**/*', {
    cwd: join(root, folder),
    exclude: (path) => NOT_CODE.test(path),
  })
    .filter((file) => statSync(join(root, folder, file)).isFile())
    .filter((file) => !/(^|\/)(README\.md|package-lock\.json)$/.test(file))
    .toSorted()
  const words = statSync(join(root, folder, 'README.md'), { throwIfNoEntry: false })
  const first = words === undefined ? `# ${basename(folder)}` : read('README.md')
  const shown = files.flatMap((file) => {
    const language = LANGUAGES[file.slice(file.lastIndexOf('.') + 1)]
    return language === undefined ? [] : [`## ${file}\n\n\`\`\`\`${language}\n${read(file)}\n\`\`\`\``]
  })
  return `${[first, ...shown].join('\n\n')}\n`
}
