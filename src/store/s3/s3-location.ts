/** The place of blobs in an S3-compatible service, without credentials, which the AWS SDK finds itself. */
export interface S3Location {
  readonly bucket: string
  /** The prefix of every key; empty, or without slashes at its ends. */
  readonly prefix: string
  /** Undefined: the SDK uses AWS_REGION or that of the profile. */
  readonly region: string | undefined
  /** Undefined: AWS itself. */
  readonly endpoint: string | undefined
  /** Whether the bucket is in the path of a request instead of its host name. */
  readonly forcePathStyle: boolean
}

const PARAMETERS = ['region', 'endpoint', 'forcePathStyle']

/** The location, or all problems of the URL; neither contains what may be a password. */
export function parseS3Url(
  source: string,
  text: string,
): S3Location | { readonly problems: readonly string[] } {
  const expected = `Expected ${source} to be a URL such as s3://bucket/prefix?region=eu-central-1`
  const url = URL.parse(text)
  if (url === null) return { problems: [`${expected}, got one that cannot be read`] }
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '')
  const found = [...authorityProblems(url), ...prefixProblems(prefix), ...parameterProblems(url)]
  if (found.length > 0) return { problems: found.map((problem) => `${expected}, ${problem}`) }
  const endpoint = url.searchParams.get('endpoint') ?? undefined
  return {
    bucket: url.hostname,
    prefix,
    region: url.searchParams.get('region') ?? undefined,
    endpoint,
    // Servers other than AWS rarely have a host name for each bucket.
    forcePathStyle: (url.searchParams.get('forcePathStyle') ?? String(endpoint !== undefined)) === 'true',
  }
}

function authorityProblems(url: URL): readonly string[] {
  const problems: string[] = []
  if (url.username !== '' || url.password !== '') {
    problems.push('without user and password: the AWS SDK takes AWS_ACCESS_KEY_ID or its other sources')
  }
  if (url.port !== '') problems.push('without a port: a server of your own is named by endpoint=')
  if (url.hash !== '') problems.push('without "#"')
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname)) {
    problems.push('got a bucket name that is not 3 to 63 small letters, digits, dots and hyphens')
  }
  return problems
}

function prefixProblems(prefix: string): readonly string[] {
  // The characters that every service keeps unchanged in keys and signatures.
  return /^[\w!.*'()/-]{0,512}$/.test(prefix) && !prefix.includes('//')
    ? []
    : ["got a prefix that is not at most 512 letters, digits, !_.*'()- and single slashes"]
}

function parameterProblems({ searchParams }: URL): readonly string[] {
  const problems: string[] = []
  for (const name of new Set(searchParams.keys())) {
    if (!PARAMETERS.includes(name)) {
      problems.push(`got a parameter that is none of ${PARAMETERS.join(', ')}`)
    } else if (searchParams.getAll(name).length > 1) problems.push(`got ${name} twice`)
  }
  const region = searchParams.get('region')
  if (region !== null && !/^[a-z0-9-]{1,64}$/i.test(region)) problems.push('got a region that is none')
  const endpoint = searchParams.get('endpoint')
  if (endpoint !== null && !isEndpoint(endpoint)) {
    problems.push('got an endpoint that is no URL such as https://storage.example.com')
  }
  const style = searchParams.get('forcePathStyle')
  if (style !== null && style !== 'true' && style !== 'false') {
    problems.push('got a forcePathStyle that is neither true nor false')
  }
  return [...new Set(problems)]
}

function isEndpoint(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return false
  return url.username === '' && url.password === '' && url.search === '' && url.hash === ''
}
