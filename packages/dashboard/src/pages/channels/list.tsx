import { useQuery } from '@tanstack/react-query'
import { QueryResult } from '../../components/query-result.tsx'
import { useProject } from '../../components/shell/project-shell.tsx'
import { channels } from './queries.ts'
import { Notice } from '../../ui/notice.tsx'
import { ChannelCard } from './channel.tsx'
import { ConnectChannel } from './connect.tsx'
import { Page } from '../../ui/page.tsx'

/** The connected chat channels of a project, and a form to connect one. */
export function ChannelsPage() {
  const { project_id: projectId } = useProject()
  const found = useQuery(channels(projectId))
  return (
    <Page title="Channels">
      <QueryResult of={found} what="channels">
        {({ channels: all, errors, setup }) => (
          <>
            {errors.map((issue) => (
              <Notice
                key={`${issue.path} ${issue.message}`}
                tone={issue.severity === 'error' ? 'bad' : 'warn'}
                title={`svc.toml: ${issue.path} ${issue.message}`}
              />
            ))}
            {all.map((channel) => (
              <ChannelCard key={channel.channel_id} projectId={projectId} channel={channel} />
            ))}
            {setup.map((each) => (
              <ConnectChannel key={each.platform} projectId={projectId} setup={each} isFirst={all.length === 0} />
            ))}
          </>
        )}
      </QueryResult>
    </Page>
  )
}
