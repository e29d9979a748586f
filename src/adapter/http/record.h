#ifndef DR_ADAPTER_HTTP_RECORD_H
#define DR_ADAPTER_HTTP_RECORD_H

/* Inside of the HTTP client: the recorder and replayer (its public half is in http.h). */

#include "adapter/http/call.h"

void dr_http_record_close(struct dr_http_record *record);
/* Before a call goes out. Recording: keeps its masked request; false. Replaying: fills response or failed from the recording; true, nothing goes out. */
bool dr_http_record_begin(struct dr_http_record *record, struct dr_http_call *call, const struct dr_http_request *request);
/* After a recorded call is finished. */
void dr_http_record_save(struct dr_http_record *record, const struct dr_http_call *call);

#endif
