import Markdown, { type Components } from 'react-markdown'
import gfm from 'remark-gfm'
import type { ReactNode } from 'react'
import { visible } from '../ui/sanitizing-jsx/visible.ts'
import { typedParts } from './typed-text.ts'

const Heading: Components['h2'] = ({ children }) => <p className="font-semibold">{children}</p>

/** Untrusted Markdown: HTML renders as text, and nothing is fetched before a click. */
const components: Components = {
  a: ({ href, children }) => (
    <a href={href} rel="noopener noreferrer nofollow" target="_blank" className="text-accent underline">
      {children}
    </a>
  ),
  img: ({ src, alt }) => (
    <a href={String(src ?? '')} rel="noopener noreferrer nofollow" target="_blank" className="text-accent underline">
      Image: {alt || 'without a description'}
    </a>
  ),
  pre: ({ children }) => <CodeBlock>{children}</CodeBlock>,
  code: ({ children }) => <code className="rounded bg-hover px-1 font-mono text-[0.8125rem]">{children}</code>,
  ul: ({ children }) => <ul className="list-disc pl-6">{children}</ul>,
  ol: ({ children }) => <ol className="list-decimal pl-6">{children}</ol>,
  h1: ({ children }) => <p className="text-lg font-semibold">{children}</p>,
  ...{ h2: Heading, h3: Heading, h4: Heading, h5: Heading, h6: Heading },
  blockquote: ({ children }) => (
    <blockquote className="border-l-2 border-line-strong pl-3 text-dim">{children}</blockquote>
  ),
  table: ({ children }) => (
    <div className="overflow-x-auto" tabIndex={0}>
      <table className="[&_td]:border [&_td]:border-line [&_td]:px-2 [&_th]:border [&_th]:border-line [&_th]:px-2">
        {children}
      </table>
    </div>
  ),
}
const plugins = [gfm]

function CodeBlock({ children }: { children: ReactNode }) {
  return (
    <pre
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line bg-sunken p-3 font-mono text-[0.8125rem] [&>code]:bg-transparent [&>code]:p-0"
    >
      {children}
    </pre>
  )
}

export function Prose({ children }: { children: string }) {
  return (
    <div className="flex flex-col gap-2">
      <Markdown remarkPlugins={plugins} components={components} skipHtml={false}>
        {visible(children)}
      </Markdown>
    </div>
  )
}

/** The prompt of a person: fenced code becomes blocks, and the rest stays as it was typed, with its line breaks. */
export function TypedText({ children, className = '' }: { children: string; className?: string }) {
  return typedParts(children).map(({ isCode, text }, at) =>
    isCode ? (
      <CodeBlock key={at}>
        <code>{text}</code>
      </CodeBlock>
    ) : (
      <p key={at} className={`whitespace-pre-wrap ${className}`}>
        {text}
      </p>
    ),
  )
}
