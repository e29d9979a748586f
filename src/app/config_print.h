#ifndef DR_APP_CONFIG_PRINT_H
#define DR_APP_CONFIG_PRINT_H

/* The configuration and its keys as people and programs read them, all made from the one table of keys. */

#include "app/config_file.h"
#include "base/json_write.h"

/* A configuration file that gives exactly these values again, the origin of each in a comment. */
void dr_config_put_yaml(const struct dr_settings *settings, struct dr_buf *buf);
/* {"preset":...,"values":{"minWorkers":{"value":"2","origin":"default"},...},"custom":[...]} */
void dr_config_put_json(const struct dr_settings *settings, struct dr_jsonw *w);
/* docs/configuration.md. */
void dr_config_put_reference(struct dr_buf *buf);
/* JSON schema of a configuration file. */
void dr_config_put_schema(struct dr_jsonw *w);

#endif
