/** OpenTelemetry's words for providers whose packages call themselves something else. */
const NAMES: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  vertex: 'gcp.vertex_ai',
  'google-vertex': 'gcp.vertex_ai',
  'amazon-bedrock': 'aws.bedrock',
  'azure-openai': 'azure.ai.openai',
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** `openai` of `openai.responses`: the AI SDK names a provider with the service of it that is called. */
export function providerName(provider: string): string {
  const [name = provider] = provider.split('.')
  return NAMES[name] ?? name
}
